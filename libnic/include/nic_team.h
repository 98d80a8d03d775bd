/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nic_team.h - ranks of a job and the segments they share
 *
 * Rank, size and the node of every rank come from the launcher. nicrun sets all
 * of these; set what is missing elsewhere:
 *   NIC_RANK, NIC_SIZE  else those of Open MPI, PMI or Slurm; else a team of one
 *   NIC_NODES           node id of each rank, "0,1,2" or "0-8"; else rank i is
 *                       on node i
 *   NIC_DEVICE          see nic_open()
 *   NIC_SECRET          32 hexadecimal digits, known to the job only; else zeros
 *   NIC_JOB             prefix of published names, different for jobs that share
 *                       a node; else the launcher's job id (OMPI_MCA_ess_base_jobid,
 *                       PMI_JOBID, SLURM_JOB_ID and step), else "job": then set it,
 *                       where jobs share a node
 * Everything else is exchanged over the NIC itself: segments and interrupts
 * are published and looked up by name. No TCP.
 *
 * A team has one owner thread. Collective functions must be called by all
 * ranks in the same order.
 */
#ifndef NIC_TEAM_H
#define NIC_TEAM_H

#include <nic.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nic_team;

/**
 * nic_team_init() - join the job (collective)
 * @ctx: the context, of this rank's node; must outlive the team
 * @timeout_ns: how long to wait for the other ranks
 * @team: out
 *
 * Without a launcher: a team of one. Blocks until all ranks are there.
 * Return: 0; -ETIME (nic_error_detail() names the first missing rank); -EINVAL
 * the environment contradicts itself; -EACCES a rank has another secret;
 * -EHOSTUNREACH there is no such node; -ENETDOWN this node's network device is down;
 * -EEXIST two ranks are the same. Signals do not end it.
 */
int nic_team_init(struct nic_ctx *ctx, uint64_t timeout_ns, struct nic_team **team);

/**
 * nic_team_finalize() - leave
 * @team: the team, or NULL
 *
 * Waits up to 1 s until its own last notifies are delivered, not for others.
 */
void nic_team_finalize(struct nic_team *team);

/** nic_team_rank() - 0 to size - 1 */
unsigned int nic_team_rank(const struct nic_team *team);
/** nic_team_size() - number of ranks */
unsigned int nic_team_size(const struct nic_team *team);
/** nic_team_node() - node id of @rank; UINT32_MAX: no such rank */
uint32_t nic_team_node(const struct nic_team *team, unsigned int rank);
/** nic_team_secret() - the job's two words */
const uint64_t *nic_team_secret(const struct nic_team *team);

/**
 * nic_team_barrier() - wait until all ranks are here (collective)
 * @team: the team
 * @timeout_ns: longest wait
 *
 * Dissemination over remote interrupts, ceil(log2(size)) rounds. Blocks; over ether longer
 * than @timeout_ns where a node does not answer, by the time after which it is dead.
 * After -ETIME and -EINTR the next call goes on with the same barrier; after
 * -EREMOTEIO every other one fails too.
 *
 * Return: 0; -ETIME; -EINTR; -EREMOTEIO a rank died (nic_error_detail() names
 * it); -ENODEV.
 */
int nic_team_barrier(struct nic_team *team, uint64_t timeout_ns);

/**
 * nic_team_share() - export a segment of this rank to the team under a tag
 * @team: the team
 * @seg: the segment, not yet exported
 * @rights: NIC_READ | NIC_WRITE
 * @tag: a short word, unique among this rank's shared segments
 *
 * Return: as nic_segment_export().
 */
int nic_team_share(struct nic_team *team, struct nic_segment *seg,
		   unsigned int rights, const char *tag);

/**
 * nic_team_find() - connect to a segment that @rank shares
 * @team: the team
 * @rank: whose
 * @tag: as shared
 * @timeout_ns: wait so long for it
 * @remote: out
 *
 * Return: as nic_connect_name().
 */
int nic_team_find(struct nic_team *team, unsigned int rank, const char *tag,
		  uint64_t timeout_ns, struct nic_remote **remote);

/**
 * nic_team_irq_create() - an interrupt of this rank, published to the team
 * @team: the team
 * @tag: unique among this rank's interrupts
 * @depth: as nic_irq_create()
 * @flags: as nic_irq_create()
 * @irq: out
 */
int nic_team_irq_create(struct nic_team *team, const char *tag, unsigned int depth,
			unsigned int flags, struct nic_irq **irq);

/** nic_team_irq_find() - connect to an interrupt of @rank, as nic_team_find() */
int nic_team_irq_find(struct nic_team *team, unsigned int rank, const char *tag,
		      uint64_t timeout_ns, struct nic_remote **remote);

#ifdef __cplusplus
}
#endif

#endif /* NIC_TEAM_H */
