// SPDX-License-Identifier: GPL-2.0-only
/*
 * What nictile makes of its runs: which heights it runs, what it checks, and
 * that whatever it writes says what was modelled and on which link.
 *
 * Sources: tools/nictile/check.c tools/nictile/outcome.c
 * Sources: tools/nictile/failure.c tools/nictile/fit.c
 * Sources: tools/nictile/predict.c tools/nictile/report.c tools/nictile/show.c
 * Sources: tools/nictile/story.c tools/common/device.c tools/common/nl.c
 * Sources: tools/common/output.c tools/common/size.c tools/common/stats.c
 * Sources: libnic/tile/grid.c libnic/tile/model.c libnic/tile/schedule.c
 */
#include <errno.h>
#include <stdlib.h>

#include "tools/nictile/nictile.h"
#include "tools/common/output.h"

#include "unit.h"

#define RANKS	4

static struct options options;
static struct nic_tile_grid grid;
static struct decision decision;
static struct prediction prediction;
static struct measurement measurement;
static struct nic_info info = { .link = "loop" };
static struct card card;
static struct files files;

static const struct story story = {
	.options = &options, .grid = &grid, .decision = &decision,
	.prediction = &prediction, .measurement = &measurement, .info = &info,
	.card = &card, .files = &files,
};

/* options.c, which has the command line */
const char *schedule_name(unsigned int schedule)
{
	return schedule == NIC_TILE_OVERLAP ? "overlap" : "nonoverlap";
}

/* libnic's, for what tells of a real device */
const char *nic_error_detail(const struct nic_ctx *ctx)
{
	(void)ctx;
	return "";
}

int nic_query(struct nic_ctx *ctx, struct nic_info *device)
{
	(void)ctx;
	(void)device;
	return -ENODEV;
}

static void start(void)
{
	struct nic_grid_options wanted = {
		.size = sizeof(wanted), .flags = NIC_GRID_PIPE, .ndims = 3,
		.dims = { 12, 12, 4096 }, .ranks = { 2, 2, 1 }, .pipe = 2,
		.element = 4, .height = 64,
	};

	options = (struct options) {
		.dims = { 12, 12, 4096 }, .ranks = { 2, 2 }, .heights = 2,
		.height = { 50, 300 }, .schedule = { true, true },
		.modelled = true, .t1_ns = 4600, .scale = 100, .repeat = 1,
	};
	decision = (struct decision) {
		.costs = { .real_point = 4, .start_dma = 4920000,
			   .interrupt = 1880000, .sync = 7520000,
			   .transfer_byte = 1176 },
		.crowd = 4,
	};
	card = (struct card) {
		.known = true,
		.device = { .model_name = "sci-d330", .model = {
			[DMANIC_MODEL_A_START_NS] = 49200,
			[DMANIC_MODEL_A_INTERRUPT_NS] = 18800,
			[DMANIC_MODEL_A_BANDWIDTH] = 85000000,
			[DMANIC_MODEL_A_SCALE] = 100000,
		} },
	};
	memset(&measurement, 0, sizeof(measurement));
	grid.size = sizeof(grid);
	if (nic_grid_init(&grid, &wanted) ||
	    predict(&prediction, &options, &grid, &decision.costs))
		abort();
	predict_heights(&prediction, &options, &grid, &decision);
}

/* A run of each kind at each height, as long as was predicted */
static void run_all(uint64_t overruns)
{
	struct record all[RANKS];
	unsigned int h, kind, r;

	for (h = 0; h < decision.heights; h++)
		for (kind = 0; kind < SCHEDULES; kind++) {
			memset(all, 0, sizeof(all));
			for (r = 0; r < RANKS; r++) {
				all[r].end_ns = (uint64_t)(1e9 *
					predict_time(&prediction, kind,
						     decision.height[h]));
				all[r].tiles = 50;
			}
			if (!h && kind)
				all[2].overruns = overruns;
			measurement.runs++;
			measurement_add(&measurement,
					&measurement.outcome[h][kind], all,
					RANKS, decision.height[h], kind);
		}
	measurement_finish(&measurement, (unsigned int)decision.heights);
}

static bool has_height(uint64_t height)
{
	return story_index(&story, height) >= 0;
}

/* The whole report as text; free() it */
static char *report_text(bool *ok)
{
	struct report *report = report_create("nictile", "0", 1, NULL);
	size_t bytes;
	char *text;
	FILE *file = open_memstream(&text, &bytes);

	report_fill(report, &story);
	check_all(report, &story);
	*ok = report_ok(report);
	report_print(report, file);
	fclose(file);
	report_free(report);
	return text;
}

TEST(heights__of_a_list)
{
	start();
	EXPECT_EQ(decision.heights, 2);
	EXPECT(!has_height(prediction.best[NIC_TILE_OVERLAP]));
	/* What is checked is run */
	options.expect = EXPECT_OVERLAP;
	predict_heights(&prediction, &options, &grid, &decision);
	EXPECT_EQ(decision.heights, 3);
	EXPECT(has_height(prediction.best[NIC_TILE_OVERLAP]));
	options.expect = EXPECT_NONOVERLAP;
	predict_heights(&prediction, &options, &grid, &decision);
	EXPECT_EQ(decision.heights, 2);
}

TEST(check__prediction_that_was_not_run)
{
	char *text;
	bool ok;

	start();
	options.expect = EXPECT_OVERLAP;
	predict_heights(&prediction, &options, &grid, &decision);
	run_all(0);
	text = report_text(&ok);
	EXPECT_CONTAINS(text, "predicted best height");
	EXPECT(ok);
	free(text);
	/* As with a list that is full */
	decision.height[story_index(&story, prediction.best[1])]++;
	text = report_text(&ok);
	EXPECT_CONTAINS(text, "not run at ");
	EXPECT(!ok);
	free(text);
}

TEST(check__overruns_of_each_run)
{
	char *text;
	bool ok;

	/* 2 of 200 tiles are 1 %, in whichever run */
	start();
	run_all(2);
	text = report_text(&ok);
	EXPECT_CONTAINS(text, "2 of 200 tiles");
	EXPECT(ok);
	free(text);
	/* 3 are too many, though there are few among all 800 */
	start();
	run_all(3);
	text = report_text(&ok);
	EXPECT_CONTAINS(text, "3 of 200 tiles");
	EXPECT_CONTAINS(text, "height 50, overlapping");
	EXPECT(!ok);
	free(text);
	options.modelled = false;
	text = report_text(&ok);
	EXPECT(ok);
	free(text);
}

TEST(report__names_the_link_and_the_model)
{
	char *text;
	bool ok;

	start();
	run_all(0);
	text = report_text(&ok);
	EXPECT_CONTAINS(text, "\"link\":\t\"loop\"");
	EXPECT_CONTAINS(text, "\"name\":\t\"sci-d330\"");
	EXPECT_CONTAINS(text, "\"scale\":\t100,");
	EXPECT_CONTAINS(text, "\"start_ns\":\t49200");
	EXPECT_CONTAINS(text, "\"interrupt_ns\":\t18800");
	EXPECT_CONTAINS(text, "\"bandwidth_bytes_per_s\":\t85000000");
	EXPECT_CONTAINS(text, "\"compute\":\t\"modelled\"");
	free(text);
}

/* @newline: "\n" for people, "\n# " in the data */
static void expect_head(const char *newline, const char *part)
{
	char *text;
	size_t bytes;
	FILE *file = open_memstream(&text, &bytes);

	show_head(&story, file, newline);
	fclose(file);
	EXPECT_CONTAINS(text, part);
	EXPECT_CONTAINS(text, newline);
	free(text);
}

TEST(head__names_the_link_and_the_model)
{
	start();
	expect_head("\n", "MODELLED computing: 4.6us a point (46 ns times 100)");
	expect_head("\n", "link loop, model sci-d330 scale 100 (found): start 49.2us, interrupt 18.8us, bandwidth 85 MB/s");
	options.model = "sci-d330";
	expect_head("\n# ", "(set): start");
	card.device.model[DMANIC_MODEL_A_BANDWIDTH] = 0;
	expect_head("\n", "bandwidth of memory");
	card.device.model_name[0] = 0;
	expect_head("\n", "link loop, no model");
	card.known = false;
	strcpy(card.why, "no such device");
	expect_head("\n", "model not known (no such device)");
	strcpy(info.link, "ether");
	expect_head("\n", "link ether, which has no model");
	strcpy(info.link, "loop");
}

/* ---- what transfers of two sizes say ---- */

#define SAMPLES	12

/* Times that go up and down by @noise around @small and @large */
static struct costs fitted(double small, double large, double noise, double copy)
{
	double first[SAMPLES], second[SAMPLES];
	struct transfers transfers = {
		.n = SAMPLES, .small = first, .large = second,
		.small_bytes = 1000, .large_bytes = 4000, .copy_byte = copy,
	};
	struct costs costs = { 0 };
	unsigned int i;

	for (i = 0; i < SAMPLES; i++) {
		first[i] = small + noise * (i % 5 - 2.0);
		second[i] = large + noise * ((i + 3) % 5 - 2.0);
	}
	fit_transfer(&transfers, &costs);
	return costs;
}

TEST(fit__a_line_where_time_grows)
{
	struct costs costs = fitted(30000, 60000, 100, 0);

	EXPECT_EQ(costs.growth, GROWTH_MEASURED);
	EXPECT(fabs(costs.transfer_byte - 10) < 0.1);
	EXPECT(fabs(costs.transfer - 20000) < 300);
	/* As the paper's card: it begins before the poster is back */
	costs = fitted(2000, 32000, 10, 0);
	EXPECT_EQ(costs.growth, GROWTH_MEASURED);
	EXPECT(costs.transfer < 0);
}

TEST(fit__no_number_from_noise)
{
	struct costs costs = fitted(30000, 30022, 100, 0);

	EXPECT_EQ(costs.growth, GROWTH_NONE);
	EXPECT_EQ(costs.transfer_byte, 0);
	EXPECT(fabs(costs.transfer - 30000) < 200);
	EXPECT_EQ(fitted(30000, 29000, 100, 0).growth, GROWTH_NONE);
	EXPECT_EQ(fitted(30000, 30000, 0, 0).growth, GROWTH_NONE);
}

TEST(fit__nothing_arrives_faster_than_it_is_copied)
{
	/* 0.01 ns a byte, 100 GB/s, certain as it is */
	struct costs costs = fitted(30000, 30030, 1, 0.05);

	EXPECT_EQ(costs.growth, GROWTH_TOO_FAST);
	EXPECT_EQ(costs.transfer_byte, 0);
	EXPECT(fabs(costs.transfer - 30015) < 20);
	/* Where no CPU copies, it is possible */
	EXPECT_EQ(fitted(30000, 30030, 1, 0).growth, GROWTH_MEASURED);
	EXPECT_EQ(fitted(30000, 30300, 1, 0.05).growth, GROWTH_MEASURED);
}

TEST(fit__tells_what_is_not_measurable)
{
	char *text;
	size_t bytes;
	FILE *file;
	bool ok;

	start();
	decision.costs.growth = GROWTH_NONE;
	decision.costs.transfer_byte = 0;
	EXPECT_EQ(predict(&prediction, &options, &grid, &decision.costs), 0);
	file = open_memstream(&text, &bytes);
	show_prediction(&story, file);
	fclose(file);
	EXPECT_CONTAINS(text, "bandwidth not measurable: larger faces take no longer");
	EXPECT_CONTAINS(text, "what transferring its faces adds is not known");
	EXPECT(!strstr(text, "MB/s through"));
	free(text);
	text = report_text(&ok);
	EXPECT(!strstr(text, "t_comm a byte"));
	free(text);
}

TEST(files__are_opened_first_and_labelled)
{
	static char path[] = "/tmp/test_nictile.XXXXXX";
	unsigned int labels = 0, plain = 0;
	char line[512];
	struct report *report;
	int fd = mkstemp(path);
	FILE *file;

	start();
	run_all(0);
	options.json_path = "/nowhere/at/all";
	EXPECT_EQ(files_open(&files, &options), -EIO);
	options.json_path = NULL;
	options.data_path = path;
	ASSERT(fd >= 0);
	ASSERT_EQ(files_open(&files, &options), 0);
	report = report_create("nictile", "0", 1, NULL);
	EXPECT_EQ(files_write(&files, &story, report), 0);
	EXPECT(!files.data);
	report_free(report);
	file = fdopen(fd, "r");
	while (fgets(line, sizeof(line), file)) {
		labels += *line == '#' && strstr(line, "MODELLED");
		plain += *line != '#' && strstr(line, "link");
	}
	/* Before what is measured, and before what is predicted */
	EXPECT_EQ(labels, 2);
	EXPECT_EQ(plain, 0);
	fclose(file);
	remove(path);
	/* A full disk is told */
	options.data_path = "/dev/full";
	ASSERT_EQ(files_open(&files, &options), 0);
	EXPECT_EQ(files_write(&files, &story, NULL), -EIO);
}

/* ---- what a rank says that gives up ---- */

static const char *failed(unsigned int rank, int ret, const char *detail,
			  const char *model)
{
	static char text[FAILURE_TEXT];
	struct failure failure = {
		.rank = rank, .ret = ret, .what = "calibration",
		.detail = detail, .timeout_ns = 30000000000ULL, .model = model,
	};

	return failure_text(&failure, text);
}

TEST(failure__leaves_out_what_nobody_knows)
{
	EXPECT_EQ(strcmp(failed(0, -EREMOTEIO, "", ""),
			 "nictile: rank 0: calibration: Remote I/O error"), 0);
	EXPECT_EQ(strcmp(failed(1, -EREMOTEIO, "cancelled", ""),
			 "nictile: rank 1: calibration: cancelled"), 0);
}

TEST(failure__names_the_time_out_and_the_model)
{
	struct device slow = {
		.model_name = "custom",
		.model = { [DMANIC_MODEL_A_SCALE] = 2500,
			   [DMANIC_MODEL_A_LATENCY_NS] = 2000000000 },
	};
	char text[DEVICE_MODEL_TEXT];

	EXPECT_CONTAINS(failed(1, -ETIME, "cannot wait", ""),
			"cannot wait; --timeout is 30s; is the link's model slow? (nicctl dev show)");
	EXPECT_CONTAINS(failed(1, -ETIME, "cannot wait",
			       device_model_text(&slow, text)),
			"; --timeout is 30s, and the link slow: model custom, start 0ns, interrupt 0ns, latency 5s (nicctl dev show)");
	strcpy(slow.model_name, "none");
	EXPECT_EQ(strlen(device_model_text(&slow, text)), 0);
	*slow.model_name = '\0';
	EXPECT_EQ(strlen(device_model_text(&slow, text)), 0);
}

/* The others wait for nicrun to stop them: longer than rank 0, which waits not */
TEST(failure__one_rank_speaks)
{
	struct failure failure = { .ret = -ETIME };
	unsigned int ms;

	EXPECT_EQ(failure_delay_ms(&failure), 0);
	failure.rank = 3;
	ms = failure_delay_ms(&failure);
	EXPECT(ms >= 100);
	failure.rank = 0;
	failure.ret = -EREMOTEIO;
	EXPECT(failure_delay_ms(&failure) > ms);
}
