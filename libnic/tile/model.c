// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The time model of the tile schedules. Owns nothing, keeps nothing: every
 * function checks its model and computes.
 *
 * A schedule at tile height z costs (K + DIMZ/z)(b + w z), see struct terms;
 * with overlap b and w are those of whichever takes longer at that z, computing
 * or transferring. Only nic_model_predict() and nic_model_best() round DIMZ/z
 * up; the closed forms are the continuous function below both.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <nic_tile_model.h>

/* Time of a step: fixed + w z */
struct line {
	double fixed;	/* seconds a step */
	double w;	/* seconds per unit of height */
};

enum { COMPUTE, TRANSFER, LINES };

/*
 * The same shape for both schedules: T(z) = (fill + d/z) times the greater of
 * both lines at z. Without overlap they are equal.
 */
struct terms {
	double fill;	/* steps until the last rank begins */
	double d;	/* DIMZ */
	struct line line[LINES];
};

static const char *find_fault(const struct nic_tile_model *m)
{
	const double seconds[] = { m->t_start_dma, m->t_interrupt, m->t_sync,
				   m->t_startup, m->c, m->t_compute,
				   m->t_transfer };
	size_t i;

	if (m->flags || m->reserved)
		return "flags and reserved must be 0";
	if (!m->ngrid || m->ngrid >= NIC_PLAN_MAX_DIM)
		return "ngrid must be 1 to NIC_PLAN_MAX_DIM - 1";
	for (i = 0; i < m->ngrid; i++)
		if (!m->grid[i])
			return "every grid dimension needs at least one rank";
	if (!m->dimz || m->dimz > NIC_MODEL_MAX_SIZE)
		return "dimz must be 1 to 2^53 points";
	if (!m->area || m->area > NIC_MODEL_MAX_SIZE)
		return "area must be 1 to 2^53 points";
	if (!isfinite(m->t1) || m->t1 <= 0)
		return "t1 must be a positive number of seconds";
	for (i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++)
		if (!isfinite(seconds[i]) || seconds[i] < 0)
			return "times and c must be finite, not negative";
	return "";
}

int nic_model_check(const struct nic_tile_model *model, const char **why)
{
	const unsigned char *byte = (const unsigned char *)model;
	const char *fault;
	size_t i;

	/* A size beyond a page was never set. */
	if (!model || model->size < sizeof(*model) || model->size > 4096) {
		if (why)
			*why = "not a struct nic_tile_model with its size set";
		return -EINVAL;
	}
	for (i = sizeof(*model); i < model->size; i++) {
		if (!byte[i])
			continue;
		if (why)
			*why = "the struct has fields this library lacks";
		return -E2BIG;
	}
	fault = find_fault(model);
	if (why)
		*why = fault;
	return *fault ? -EINVAL : 0;
}

int nic_model_init(struct nic_tile_model *model, size_t size)
{
	if (!model || size < sizeof(*model) || size > 4096)
		return -EINVAL;
	memset(model, 0, size);
	model->size = size;
	model->t_start_dma = NIC_MODEL_SCI_START_DMA;
	model->t_interrupt = NIC_MODEL_SCI_INTERRUPT;
	return 0;
}

int nic_model_set_grid(struct nic_tile_model *model,
		       const struct nic_tile_grid *grid, double bandwidth)
{
	unsigned int d;

	if (!model || model->size < sizeof(*model) || !grid ||
	    grid->size < sizeof(*grid) || !grid->nranks)
		return -EINVAL;
	if (!(bandwidth > 0))
		return -EINVAL;
	model->ngrid = 0;
	for (d = 0; d < grid->ndims; d++)
		if (d != grid->pipe)
			model->grid[model->ngrid++] = grid->ranks[d];
	model->dimz = grid->dims[grid->pipe];
	model->area = grid->area;
	model->c = (double)grid->unit_bytes / bandwidth;
	return 0;
}

/* F = sum (ranks - 1); at most 7 x 2^32, so it cannot overflow */
static uint64_t fill_steps(const struct nic_tile_model *m)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < m->ngrid; i++)
		sum += m->grid[i] - 1;
	return sum;
}

/* t_start_dma + t_sync: what a step costs besides computing, transferring */
static double get_a(const struct nic_tile_model *m)
{
	return m->t_start_dma +
	       (m->t_sync > 0 ? m->t_sync : 4 * m->t_interrupt);
}

static double get_startup(const struct nic_tile_model *m)
{
	return m->t_startup > 0 ? m->t_startup :
				  get_a(m) + m->t_compute + m->t_transfer;
}

static bool is_finite(const struct line *line)
{
	return isfinite(line->fixed) && isfinite(line->w);
}

static int get_terms(const struct nic_tile_model *m,
		     enum nic_tile_schedule schedule, struct terms *t)
{
	double compute;
	int ret;

	ret = nic_model_check(m, NULL);
	if (ret)
		return ret;
	compute = (double)m->area * m->t1;
	t->d = (double)m->dimz;
	t->fill = (double)fill_steps(m);
	switch (schedule) {
	case NIC_TILE_NONOVERLAP:
		t->line[COMPUTE].fixed = get_startup(m);
		t->line[COMPUTE].w = compute + m->c;
		t->line[TRANSFER] = t->line[COMPUTE];
		break;
	case NIC_TILE_OVERLAP:
		t->fill *= 2;
		t->line[COMPUTE].fixed = get_a(m) + m->t_compute;
		t->line[COMPUTE].w = compute;
		t->line[TRANSFER].fixed = get_a(m) + m->t_transfer;
		t->line[TRANSFER].w = m->c;
		break;
	default:
		return -EINVAL;
	}
	if (!is_finite(&t->line[COMPUTE]) || !is_finite(&t->line[TRANSFER]))
		return -EOVERFLOW;
	/* A product of two tiny factors may have vanished as well. */
	if (fmax(t->line[COMPUTE].w, t->line[TRANSFER].w) <= 0)
		return -EOVERFLOW;
	return 0;
}

/* Of one step */
static double step_time(const struct terms *t, double z)
{
	return fmax(t->line[COMPUTE].fixed + t->line[COMPUTE].w * z,
		    t->line[TRANSFER].fixed + t->line[TRANSFER].w * z);
}

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
	return (a - 1) / b + 1;
}

/* The exact time: a last tile that is shorter counts as a whole one. */
static double whole_time(const struct terms *t, uint64_t z)
{
	uint64_t tiles = ceil_div((uint64_t)t->d, z);

	return (t->fill + (double)tiles) * step_time(t, (double)z);
}

/* The continuous time, never more than whole_time() */
static double smooth_time(const struct terms *t, double z)
{
	return (t->fill + t->d / z) * step_time(t, z);
}

int nic_model_get_overhead(const struct nic_tile_model *model,
			   enum nic_tile_schedule schedule, double *seconds)
{
	struct terms t;
	int ret;

	if (!seconds)
		return -EINVAL;
	ret = get_terms(model, schedule, &t);
	if (!ret)
		*seconds = step_time(&t, 0);
	return ret;
}

int nic_model_count_steps(const struct nic_tile_model *model,
			  enum nic_tile_schedule schedule, uint64_t z,
			  uint64_t *steps)
{
	uint64_t fill;
	int ret;

	ret = nic_model_check(model, NULL);
	if (ret || !steps)
		return ret ? ret : -EINVAL;
	if (!z || z > model->dimz)
		return -ERANGE;
	fill = fill_steps(model);
	switch (schedule) {
	case NIC_TILE_NONOVERLAP:
		break;
	case NIC_TILE_OVERLAP:
		fill *= 2;
		break;
	default:
		return -EINVAL;
	}
	*steps = fill + ceil_div(model->dimz, z);
	return 0;
}

int nic_model_predict(const struct nic_tile_model *model,
		      enum nic_tile_schedule schedule, uint64_t z,
		      double *seconds)
{
	struct terms t;
	double time;
	int ret;

	if (!seconds)
		return -EINVAL;
	ret = get_terms(model, schedule, &t);
	if (ret)
		return ret;
	if (!z || z > model->dimz)
		return -ERANGE;
	time = whole_time(&t, z);
	if (!isfinite(time))
		return -EOVERFLOW;
	*seconds = time;
	return 0;
}

/*
 * Of one line: dT/dz = 0 at sqrt(d fixed / (fill w)), where
 * T = (sqrt + sqrt)^2. A line without slope has its least time at d.
 */
static double line_optimum(const struct terms *t, const struct line *line,
			   double *time)
{
	double z = t->d, root;

	if (t->fill > 0 && line->w > 0)
		z = sqrt(t->d / t->fill) * sqrt(line->fixed / line->w);
	if (z < 1 || z >= t->d) {
		z = z < 1 ? 1 : t->d;
		*time = (t->fill + t->d / z) * (line->fixed + line->w * z);
		return z;
	}
	root = sqrt(t->fill * line->fixed) + sqrt(t->d * line->w);
	*time = root * root;
	return z;
}

static bool is_above(const struct line *line, const struct line *other,
		     double z)
{
	return line->fixed + line->w * z >= other->fixed + other->w * z;
}

/*
 * T is the greater of two convex functions: it is least where one of them is,
 * if that one is the greater there, and else where they cross.
 */
static double smooth_optimum(const struct terms *t, double *time)
{
	const struct line *one = &t->line[COMPUTE], *two = &t->line[TRANSFER];
	double z;

	z = line_optimum(t, one, time);
	if (is_above(one, two, z))
		return z;
	z = line_optimum(t, two, time);
	if (is_above(two, one, z))
		return z;
	z = (two->fixed - one->fixed) / (one->w - two->w);
	z = fmin(fmax(z, 1), t->d);
	*time = smooth_time(t, z);
	return z;
}

int nic_model_optimize(const struct nic_tile_model *model,
		       enum nic_tile_schedule schedule, double *z,
		       double *seconds)
{
	struct terms t;
	double time, best;
	int ret;

	if (!z)
		return -EINVAL;
	ret = get_terms(model, schedule, &t);
	if (ret)
		return ret;
	best = smooth_optimum(&t, &time);
	if (!isfinite(time))
		return -EOVERFLOW;
	*z = best;
	if (seconds)
		*seconds = time;
	return 0;
}

struct search {
	struct terms t;
	uint64_t dimz, z;
	double time;
};

static void try_height(struct search *s, uint64_t z)
{
	double time = whole_time(&s->t, z);

	if (time < s->time || (time == s->time && z < s->z)) {
		s->time = time;
		s->z = z;
	}
}

/* smooth_time() is convex: once it exceeds the best, it does from there on. */
static bool is_hopeless(const struct search *s, double z)
{
	return smooth_time(&s->t, z) > s->time * (1 + 1e-12);
}

/* Every height from z* outward. Short as long as z* <= sqrt(DIMZ). */
static void search_heights(struct search *s, uint64_t start)
{
	uint64_t z;

	for (z = start; z >= 1 && !is_hopeless(s, (double)z); z--)
		try_height(s, z);
	for (z = start; z < s->dimz && !is_hopeless(s, (double)(z + 1)); z++)
		try_height(s, z + 1);
}

/*
 * Every number of tiles from DIMZ/z* outward, each with the least height that
 * gives it: any greater one has as many steps, and longer ones.
 */
static void search_tiles(struct search *s, uint64_t start)
{
	uint64_t q;

	for (q = start; q >= 1 && !is_hopeless(s, s->t.d / (double)q); q--)
		try_height(s, ceil_div(s->dimz, q));
	for (q = start + 1; q <= s->dimz; q++) {
		if (is_hopeless(s, s->t.d / (double)q))
			break;
		try_height(s, ceil_div(s->dimz, q));
	}
}

int nic_model_best(const struct nic_tile_model *model,
		   enum nic_tile_schedule schedule, uint64_t *z,
		   double *seconds)
{
	struct search s;
	double optimum;
	int ret;

	if (!z)
		return -EINVAL;
	ret = get_terms(model, schedule, &s.t);
	if (ret)
		return ret;
	s.dimz = model->dimz;
	optimum = smooth_optimum(&s.t, &s.time);
	s.z = (uint64_t)optimum;
	s.time = whole_time(&s.t, s.z);
	if (!isfinite(s.time))
		return -EOVERFLOW;
	/* One rank: fewer tiles are always better, and z* is already DIMZ. */
	if (s.t.fill > 0 && optimum * optimum <= s.t.d)
		search_heights(&s, s.z);
	else if (s.t.fill > 0)
		search_tiles(&s, ceil_div(s.dimz, s.z));
	*z = s.z;
	if (seconds)
		*seconds = s.time;
	return 0;
}

/* How much longer the best run without overlap is, at c = ratio A t1 */
static int get_gain(const struct nic_tile_model *model, double ratio,
		    double *gain)
{
	struct nic_tile_model m;
	double plain, overlapped, z;
	int ret;

	memcpy(&m, model, sizeof(m));
	m.size = sizeof(m);
	m.c = ratio * (double)m.area * m.t1;
	if (!isfinite(m.c))
		return -EOVERFLOW;
	ret = nic_model_optimize(&m, NIC_TILE_NONOVERLAP, &z, &plain);
	if (!ret)
		ret = nic_model_optimize(&m, NIC_TILE_OVERLAP, &z, &overlapped);
	if (!ret)
		*gain = plain - overlapped;
	return ret;
}

/* Where the gain changes its sign between two ratios */
static int bisect(const struct nic_tile_model *model, double losing,
		  double winning, double *ratio)
{
	double middle, gain;
	int i, ret;

	for (i = 0; i < 100; i++) {
		middle = losing + (winning - losing) / 2;
		ret = get_gain(model, middle, &gain);
		if (ret)
			return ret;
		if (gain > 0)
			winning = middle;
		else
			losing = middle;
	}
	*ratio = winning;
	return 0;
}

/*
 * A ratio at which overlap wins: 1, where it does most when neither computing
 * nor transferring has a fixed part, else the nearest power of two.
 */
static int find_winning(const struct nic_tile_model *model, double *ratio)
{
	int i, ret;

	for (i = 0; i <= 80; i++) {
		double gain;

		*ratio = ldexp(1, i % 2 ? (i + 1) / 2 : -i / 2);
		ret = get_gain(model, *ratio, &gain);
		if (ret || gain > 0)
			return ret;
		if (model->t_compute <= 0 && model->t_transfer <= 0)
			break;
	}
	return -ERANGE;
}

static int find_upper(const struct nic_tile_model *model, double winning,
		      double *upper)
{
	double ratio = winning, gain;
	int i, ret;

	for (i = 0; i < 40; i++) {
		ratio *= 2;
		ret = get_gain(model, ratio, &gain);
		if (ret)
			return ret;
		if (gain <= 0)
			return bisect(model, ratio, ratio / 2, upper);
	}
	*upper = INFINITY;
	return 0;
}

int nic_model_crossover(const struct nic_tile_model *model, double *lower,
			double *upper)
{
	double gain, winning, low = 0;
	int ret;

	ret = nic_model_check(model, NULL);
	if (ret || !lower)
		return ret ? ret : -EINVAL;
	if (!fill_steps(model))
		return -EDOM;
	ret = find_winning(model, &winning);
	if (!ret)
		ret = get_gain(model, 0, &gain);
	if (!ret && gain <= 0)
		ret = bisect(model, 0, winning, &low);
	if (!ret && upper)
		ret = find_upper(model, winning, upper);
	if (!ret)
		*lower = low;
	return ret;
}
