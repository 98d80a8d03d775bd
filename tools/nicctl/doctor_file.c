// SPDX-License-Identifier: GPL-2.0-only
/*
 * doctor_file.c - findings, and files below the root
 */
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"

void doctor_say(struct doctor *doctor, const char *name,
		enum doctor_level level, const char *format, ...)
{
	struct finding *finding = &doctor->finding[doctor->n];
	va_list list;

	if (doctor->n == DOCTOR_FINDINGS)
		return;
	doctor->n++;
	finding->name = name;
	finding->level = level;
	finding->remedy[0] = '\0';
	va_start(list, format);
	vsnprintf(finding->text, sizeof(finding->text), format, list);
	va_end(list);
}

void doctor_remedy(struct doctor *doctor, const char *format, ...)
{
	struct finding *finding = &doctor->finding[doctor->n - 1];
	va_list list;

	va_start(list, format);
	vsnprintf(finding->remedy, sizeof(finding->remedy), format, list);
	va_end(list);
}

void doctor_unknown(struct doctor *doctor, const char *name, const char *path,
		    int error)
{
	if (error == -EACCES || error == -EPERM)
		doctor_say(doctor, name, DOCTOR_UNKNOWN,
			   "not checked: needs root (%s)", path);
	else
		doctor_say(doctor, name, DOCTOR_UNKNOWN,
			   "not checked: cannot read %s: %s", path,
			   strerror(-error));
}

char *doctor_path(const struct doctor *doctor, const char *format, ...)
{
	char *below, *path;
	va_list list;

	va_start(list, format);
	if (vasprintf(&below, format, list) < 0)
		below = NULL;
	va_end(list);
	if (!below || asprintf(&path, "%s%s", doctor->root, below) < 0) {
		fputs("nicctl: out of memory\n", stderr);
		exit(EXIT_FAILURE);
	}
	free(below);
	return path;
}

static FILE *open_below(const struct doctor *doctor, const char *path)
{
	char *whole = doctor_path(doctor, "%s", path);
	FILE *file = fopen(whole, "re");
	int error = errno;

	free(whole);
	errno = error;
	return file;
}

int doctor_read(const struct doctor *doctor, const char *path, char *text,
		size_t size)
{
	FILE *file = open_below(doctor, path);
	size_t length;
	int ret = 0;

	*text = '\0';
	if (!file)
		return -errno;
	errno = 0;
	length = fread(text, 1, size - 1, file);
	if (ferror(file))
		ret = errno ? -errno : -EIO;
	fclose(file);
	text[length] = '\0';
	if (length && text[length - 1] == '\n')
		text[length - 1] = '\0';
	return ret;
}

int doctor_read_line(const struct doctor *doctor, const char *path,
		     const char *key, char *text, size_t size)
{
	FILE *file = open_below(doctor, path);
	int ret = -ENOENT;
	char *line = NULL;
	size_t room = 0;

	*text = '\0';
	if (!file)
		return -errno;
	while (ret && getline(&line, &room, file) >= 0) {
		if (strncmp(line, key, strlen(key)) != 0)
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(text, size, "%s", line + strlen(key));
		ret = 0;
	}
	free(line);
	fclose(file);
	return ret;
}

bool doctor_exists(const struct doctor *doctor, const char *path)
{
	char *whole = doctor_path(doctor, "%s", path);
	bool there = !access(whole, F_OK);

	free(whole);
	return there;
}

size_t doctor_count_files(const struct doctor *doctor)
{
	char *path = doctor_path(doctor, "/dev/dmanic");
	DIR *folder = opendir(path);
	struct dirent *entry;
	size_t n = 0;

	free(path);
	if (!folder)
		return 0;
	while ((entry = readdir(folder)))
		n += *entry->d_name != '.';
	closedir(folder);
	return n;
}
