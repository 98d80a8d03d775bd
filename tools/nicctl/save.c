// SPDX-License-Identifier: GPL-2.0-only
/*
 * save.c - nicctl save: a file that makes the devices there are
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "key.h"
#include "nicctl.h"
#include "plan.h"

#define MODE	0644	/* there are no secrets in it */

static int write_all(int fd, const char *text)
{
	size_t left = strlen(text);
	ssize_t done;

	while (left) {
		done = write(fd, text, left);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -1;
		text += done;
		left -= (size_t)done;
	}
	return 0;
}

/* Into what is there: a device, a FIFO; or where a link leads, but nothing is */
static int write_into(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_NOCTTY | O_CLOEXEC, MODE);
	int ret;

	if (fd < 0)
		return -1;
	ret = write_all(fd, text);
	return close(fd) || ret ? -1 : 0;
}

/* Who reads the file sees the old one or the new one, also after a crash */
static int replace_file(const char *path, const char *text)
{
	char *beside;
	int fd, ret;

	if (asprintf(&beside, "%s.XXXXXX", path) < 0)
		return -1;
	fd = mkostemp(beside, O_CLOEXEC);
	if (fd < 0) {
		free(beside);
		return -1;
	}
	ret = write_all(fd, text) || fchmod(fd, MODE) || fsync(fd);
	ret = close(fd) || ret || rename(beside, path);
	if (ret)
		unlink(beside);
	free(beside);
	return ret ? -1 : 0;
}

/* Only a regular file may be replaced by another, and not a link to it */
static int write_file(const char *path, const char *text)
{
	struct stat there;
	char *real;
	int ret;

	if (stat(path, &there)) {
		if (errno != ENOENT)
			return -1;
		return lstat(path, &there) ? replace_file(path, text) :
					     write_into(path, text);
	}
	if (!S_ISREG(there.st_mode))
		return write_into(path, text);
	real = realpath(path, NULL);
	ret = real ? replace_file(real, text) : -1;
	free(real);
	return ret;
}

/* A command a result */
static void report_lines(struct nicctl *ctl, const char *text)
{
	struct cJSON *result;
	unsigned int nr = 0;
	char name[32];
	size_t length;
	char *line;

	for (; *text; text += length + 1) {
		length = strcspn(text, "\n");
		if (*text == '#')
			continue;
		line = strndup(text, length);
		if (!line)
			return;
		snprintf(name, sizeof(name), "command %u", ++nr);
		result = report_add_result(ctl->report);
		report_add_text(result, "name", name);
		report_add_text(result, "command", line);
		free(line);
	}
}

static int put(struct nicctl *ctl, const char *path, const char *text,
	       size_t devices)
{
	report_lines(ctl, text);
	if (path && write_file(path, text))
		return nicctl_fail(ctl, "save", "cannot write %s: %s", path,
				   strerror(errno));
	if (!path && !ctl->json)
		fputs(text, stdout);
	if (path && !devices)
		fprintf(stderr, "nicctl: save: there is no device, so %s makes none\n",
			path);
	report_check(ctl->report, "save", true, "%zu devices", devices);
	return EXIT_SUCCESS;
}

/* Told now, and not first at the next boot. A user who may not look is told nothing */
static void warn_of_keys(const struct devices *devices)
{
	uint8_t key[KEY_BYTES];
	char path[64], why[256];
	size_t i;

	for (i = 0; i < devices->n; i++) {
		if (!devices->device[i].number[DMANIC_A_KEY_ID])
			continue;
		snprintf(path, sizeof(path), KEY_FOLDER "/%s.key",
			 devices->device[i].name);
		if (access(path, R_OK) && errno != ENOENT)
			continue;
		if (key_load(path, key, why, sizeof(why)))
			fprintf(stderr, "nicctl: save: key %s: %s; nicctl restore reads the key of %s there, and makes nothing without it\n",
				path, why, devices->device[i].name);
		explicit_bzero(key, sizeof(key));
	}
}

static int save(struct nicctl *ctl, const char *path)
{
	struct devices devices = { 0 };
	char *text = NULL;
	size_t size = 0;
	int status;
	FILE *file;

	if (devices_get(&ctl->nl, DMANIC_GENL_CMD_DEV_GET, NULL, NULL,
			&devices)) {
		devices_free(&devices);
		return nicctl_fail(ctl, "save", "%s", ctl->nl.error);
	}
	file = open_memstream(&text, &size);
	if (file)
		plan_write(&devices, file);
	if (!file || fclose(file))
		status = nicctl_fail(ctl, "save", "out of memory");
	else
		status = put(ctl, path, text, devices.n);
	if (!status)
		warn_of_keys(&devices);
	free(text);
	devices_free(&devices);
	return status;
}

int save_run(struct nicctl *ctl)
{
	const char *path = NULL;
	int status;

	if (args_take_exactly(&ctl->args, "help"))
		return help_topic(ctl, "save");
	if (args_peek(&ctl->args)) {
		path = args_take(&ctl->args, "the name of the file");
		if (!path)
			return nicctl_usage(ctl, "save");
	}
	if (args_end(&ctl->args))
		return nicctl_usage(ctl, "save");
	if (path && !strcmp(path, "-"))
		path = NULL;
	status = nicctl_connect(ctl);
	return status ? status : save(ctl, path);
}
