// SPDX-License-Identifier: GPL-2.0-only
/*
 * label.c - output of the ranks with --label: read from pipes, printed in whole
 * lines that begin with the rank
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "nicrun.h"

int label_open(struct rank *rank, int out[2])
{
	for (int s = 0; opt.label && s < 2; s++) {
		int ends[2];

		if (pipe2(ends, O_CLOEXEC))
			return -errno;
		fcntl(ends[0], F_SETFL, O_NONBLOCK);
		rank->stream[s].fd = ends[0];
		rank->stream[s].to = s ? stderr : stdout;
		out[s] = ends[1];
	}
	return 0;
}

static void print_line(unsigned int rank, const struct stream *stream,
		       size_t length, bool whole)
{
	fprintf(stream->to, "[%u] ", rank);
	fwrite(stream->line, 1, length, stream->to);
	if (!whole)
		fputc('\n', stream->to);
}

static void print_lines(unsigned int rank, struct stream *stream)
{
	char *end;
	size_t length;

	while ((end = memchr(stream->line, '\n', stream->used))) {
		length = (size_t)(end - stream->line) + 1;
		print_line(rank, stream, length, true);
		stream->used -= length;
		memmove(stream->line, end + 1, stream->used);
	}
	if (stream->used == sizeof(stream->line)) {
		print_line(rank, stream, stream->used, false);
		stream->used = 0;
	}
}

void label_close(unsigned int i, struct stream *stream)
{
	if (stream->fd < 0)
		return;
	if (stream->used)
		print_line(i, stream, stream->used, false);
	fflush(stream->to);
	close(stream->fd);
	stream->fd = -1;
}

bool label_read(unsigned int i, struct stream *stream)
{
	ssize_t got;

	if (stream->fd < 0)
		return false;
	got = read(stream->fd, stream->line + stream->used,
		   sizeof(stream->line) - stream->used);
	if (got > 0) {
		stream->used += (size_t)got;
		print_lines(i, stream);
		fflush(stream->to);
	} else if (!got) {
		label_close(i, stream);
	}
	return got > 0;
}
