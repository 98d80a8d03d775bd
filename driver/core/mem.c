// SPDX-License-Identifier: GPL-2.0-only
/*
 * mem.c - pinned pages: allocation, pinning, charging, mapping, copying
 *
 * Our own pages are compound blocks as large as the allocator gives. Mapped
 * with vm_insert_page() they work with O_DIRECT, io_uring and GUP, which
 * remap_pfn_range() mappings do not. One reference to a block keeps all of it,
 * so a page that somebody still holds by GUP outlives its mem; the charge does
 * not.
 *
 * A mem is freed where its last reference goes: at once when the caller may
 * sleep, from a workqueue otherwise.
 */
#include <linux/capability.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "dmanic.h"

#ifdef CONFIG_HIGHMEM
#error "dmanic needs a 64-bit kernel: pages are reached through page_address()"
#endif

/* Longest piece copied without a look around (resched, cancel) */
#define MEM_MAX_RUN	SZ_256K

/* The user's pages that are pinned, or given back, before others may run */
#define MEM_CHUNK	512UL

/* Most pages one fault maps: what follows is likely to be touched next */
#define MEM_FAULT_PAGES	64UL

static struct workqueue_struct *mem_wq;

/* Pages of ours that were not given back; no tool of the kernel misses them */
static atomic_long_t mem_pages = ATOMIC_LONG_INIT(0);

static int mem_refuse(struct dmanic_refusal *refusal, u32 limit, u64 asked,
		      u64 allowed, int err)
{
	refusal->limit = limit;
	refusal->asked = asked;
	refusal->allowed = allowed;
	return err;
}

/* The root of all cgroups has no limit to run into */
static bool mem_in_cgroup(void)
{
#ifdef CONFIG_MEMCG
	struct mem_cgroup *memcg;
	bool in_cgroup;

	if (mem_cgroup_disabled())
		return false;
	rcu_read_lock();
	memcg = mem_cgroup_from_task(current);
	in_cgroup = memcg && memcg->css.parent;
	rcu_read_unlock();
	return in_cgroup;
#else
	return false;
#endif
}

/*
 * The last @missing pages were not to be had, after @got. If the machine has
 * them, it was the cgroup, or one above it: the kernel tells nobody which, nor
 * how much it has left.
 */
static int mem_refuse_pages(struct dmanic_refusal *refusal, u64 asked,
			    unsigned long got, unsigned long missing)
{
	unsigned long free = si_mem_available();

	if (missing < free && mem_in_cgroup())
		return mem_refuse(refusal, DMANIC_LIMIT_CGROUP, asked, 0, -ENOMEM);
	return mem_refuse(refusal, DMANIC_LIMIT_MEMORY, asked,
			  (u64)(got + free) << PAGE_SHIFT, -ENOMEM);
}

static int mem_charge(struct dmanic_mem *mem, struct dmanic_refusal *refusal)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	unsigned long used;

	used = atomic_long_add_return(mem->nr_pages, &mem->user->locked_vm);
	if (used > limit && !capable(CAP_IPC_LOCK)) {
		atomic_long_sub(mem->nr_pages, &mem->user->locked_vm);
		return mem_refuse(refusal, DMANIC_LIMIT_MEMLOCK,
				  (u64)used << PAGE_SHIFT,
				  (u64)limit << PAGE_SHIFT, -EDQUOT);
	}
	mem->charged = mem->nr_pages;
	atomic64_add((u64)mem->nr_pages << PAGE_SHIFT, &mem->node->pinned);
	return 0;
}

static void mem_uncharge(struct dmanic_mem *mem)
{
	if (!mem->charged)
		return;
	atomic_long_sub(mem->charged, &mem->user->locked_vm);
	atomic64_sub((u64)mem->charged << PAGE_SHIFT, &mem->node->pinned);
}

/* Give back the first @nr pages; @written: they may have been written to */
static void mem_put_pages(struct dmanic_mem *mem, unsigned long nr, bool written)
{
	unsigned long i, step;

	if (mem->user_pages) {
		for (i = 0; i < nr; i += step) {
			step = min(nr - i, MEM_CHUNK);
			unpin_user_pages_dirty_lock(mem->pages + i, step, written);
			cond_resched();
		}
		return;
	}
	for (i = 0; i < nr; i += step) {
		step = compound_nr(mem->pages[i]);
		put_page(mem->pages[i]);
		atomic_long_sub(step, &mem_pages);
		cond_resched();
	}
}

static void mem_free(struct dmanic_mem *mem)
{
	mem_put_pages(mem, mem->nr_pages, true);
	mem_uncharge(mem);
	kvfree(mem->pages);
	free_uid(mem->user);
	put_device(&mem->node->dev);
	kfree(mem);
}

static void mem_free_work(struct work_struct *work)
{
	mem_free(container_of(work, struct dmanic_mem, free_work));
}

/**
 * dmanic_mem_put() - drop references, from any context
 * @mem: the memory
 * @nr: how many
 */
void dmanic_mem_put(struct dmanic_mem *mem, unsigned int nr)
{
	if (refcount_sub_and_test(nr, &mem->ref))
		queue_work(mem_wq, &mem->free_work);
}

/**
 * dmanic_mem_put_sleep() - drop a reference; pages and charge are given back
 *	before it returns if it was the last
 * @mem: the memory
 */
void dmanic_mem_put_sleep(struct dmanic_mem *mem)
{
	might_sleep();
	if (refcount_dec_and_test(&mem->ref))
		mem_free(mem);
}

/* @more: pages that will be allocated beside the array of them */
static struct dmanic_mem *mem_new(struct dmanic_ctx *ctx, u64 length,
				  unsigned int first, bool more,
				  struct dmanic_refusal *refusal)
{
	struct dmanic_mem *mem;
	long need;
	int ret;

	if (!length)
		return ERR_PTR(-EINVAL);
	if (length > DMANIC_MAX_SEGMENT_BYTES)
		return ERR_PTR(mem_refuse(refusal, DMANIC_LIMIT_SEGMENT_SIZE, length,
					  DMANIC_MAX_SEGMENT_BYTES, -EDQUOT));

	mem = kzalloc(sizeof(*mem), GFP_KERNEL_ACCOUNT);
	if (!mem)
		return ERR_PTR(-ENOMEM);
	refcount_set(&mem->ref, 1);
	INIT_WORK(&mem->free_work, mem_free_work);
	mem->length = length;
	mem->first = first;
	mem->nr_pages = DIV_ROUND_UP(length + first, PAGE_SIZE);
	mem->node = ctx->node;
	mem->user = ctx->account->user;

	ret = mem_charge(mem, refusal);
	if (ret)
		goto err_free;
	/* Before asking: the last pages are not worth somebody else's process */
	need = (more ? mem->nr_pages : 0) +
	       PFN_UP(mem->nr_pages * sizeof(*mem->pages));
	if (need < si_mem_available())
		mem->pages = kvmalloc_array(mem->nr_pages, sizeof(*mem->pages),
					    GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!mem->pages) {
		ret = mem_refuse_pages(refusal, length, 0, need);
		goto err_uncharge;
	}
	get_device(&mem->node->dev);
	get_uid(mem->user);
	return mem;

err_uncharge:
	mem_uncharge(mem);
err_free:
	kfree(mem);
	return ERR_PTR(ret);
}

/* Undo mem_new() when only @nr pages were got */
static void mem_abort(struct dmanic_mem *mem, unsigned long nr)
{
	mem_put_pages(mem, nr, false);
	mem->nr_pages = 0;
	mem_free(mem);
}

static void mem_find_linear(struct dmanic_mem *mem)
{
	unsigned long i;

	for (i = 1; i < mem->nr_pages; i++)
		if (mem->pages[i] != mem->pages[i - 1] + 1)
			return;
	mem->linear = page_address(mem->pages[0]);
}

static struct page *mem_block(unsigned int *order)
{
	gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN;
	struct page *page;

	for (;;) {
		if (!*order)
			return alloc_pages(gfp | __GFP_RETRY_MAYFAIL, 0);
		page = alloc_pages(gfp | __GFP_COMP | __GFP_NORETRY, *order);
		if (page)
			return page;
		--*order;
	}
}

/**
 * dmanic_mem_alloc() - zeroed pages in blocks as large as possible
 * @ctx: whose user is charged
 * @length: bytes
 * @refusal: which limit stopped it
 *
 * Return: memory with one reference, or ERR_PTR: -EINVAL, -EDQUOT, -ENOMEM,
 * -EINTR when the caller is being killed.
 */
struct dmanic_mem *dmanic_mem_alloc(struct dmanic_ctx *ctx, u64 length,
				    struct dmanic_refusal *refusal)
{
	unsigned int order = MAX_PAGE_ORDER;
	unsigned long nr = 0, i;
	struct dmanic_mem *mem;
	struct page *page;
	int ret;

	mem = mem_new(ctx, length, 0, true, refusal);
	if (IS_ERR(mem))
		return mem;

	while (nr < mem->nr_pages) {
		order = min_t(unsigned int, order, ilog2(mem->nr_pages - nr));
		page = mem_block(&order);
		if (!page) {
			ret = mem_refuse_pages(refusal, length, nr,
					       mem->nr_pages - nr);
			goto err_abort;
		}
		for (i = 0; i < 1UL << order; i++)
			mem->pages[nr + i] = page + i;
		nr += 1UL << order;
		atomic_long_add(1UL << order, &mem_pages);
		if (fatal_signal_pending(current)) {
			ret = -EINTR;
			goto err_abort;
		}
		cond_resched();
	}
	mem->block_order = order;
	mem_find_linear(mem);
	return mem;

err_abort:
	mem_abort(mem, nr);
	return ERR_PTR(ret);
}

/* Write-back of other files would wait for, or lose, what a device writes */
static bool mem_page_ok(struct page *page)
{
	struct folio *folio = page_folio(page);

	return folio_test_anon(folio) || folio_test_swapbacked(folio) ||
	       PageHuge(page);
}

/* Newer kernels answer EFAULT for a file mapping; tell the two apart */
static int mem_pin_error(unsigned long address, long got)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	int ret = got ? got : -EFAULT;

	if (ret != -EFAULT)
		return ret;
	mmap_read_lock(mm);
	vma = find_vma(mm, address);
	if (vma && vma->vm_start <= address && vma->vm_file &&
	    (vma->vm_flags & VM_WRITE))
		ret = -EINVAL;
	mmap_read_unlock(mm);
	return ret;
}

/**
 * dmanic_mem_pin() - pin memory of the calling process
 * @ctx: whose user is charged
 * @address: user address, any alignment
 * @length: bytes
 * @refusal: which limit stopped it
 *
 * Always pinned for writing: a read-only pin of a copy-on-write page would go
 * stale at the next write. Return: as dmanic_mem_alloc(), and -EFAULT when it
 * is not mapped writable, -EINVAL when it is a file mapping.
 */
struct dmanic_mem *dmanic_mem_pin(struct dmanic_ctx *ctx, u64 address, u64 length,
				  struct dmanic_refusal *refusal)
{
	unsigned long start, nr = 0, i;
	struct dmanic_mem *mem;
	long got;
	int ret;

	if (address + length < address || address + length > TASK_SIZE_MAX)
		return ERR_PTR(-EFAULT);
	mem = mem_new(ctx, length, offset_in_page(address), false,
		      refusal);
	if (IS_ERR(mem))
		return mem;
	mem->user_pages = true;
	start = address & PAGE_MASK;

	while (nr < mem->nr_pages) {
		got = pin_user_pages_fast(start + (nr << PAGE_SHIFT),
					  min(mem->nr_pages - nr, MEM_CHUNK),
					  FOLL_WRITE | FOLL_LONGTERM,
					  mem->pages + nr);
		if (got <= 0) {
			ret = mem_pin_error(start + (nr << PAGE_SHIFT), got);
			goto err_abort;
		}
		nr += got;
		for (i = nr - got; i < nr; i++) {
			if (!mem_page_ok(mem->pages[i])) {
				ret = -EINVAL;
				goto err_abort;
			}
		}
		if (fatal_signal_pending(current)) {
			ret = -EINTR;
			goto err_abort;
		}
		cond_resched();
	}
	mem_find_linear(mem);
	return mem;

err_abort:
	mem_abort(mem, nr);
	return ERR_PTR(ret);
}

/**
 * dmanic_mem_vmap() - one kernel address for all of it (rings)
 * @mem: the memory
 *
 * Return: address for vunmap(), or NULL.
 */
void *dmanic_mem_vmap(struct dmanic_mem *mem)
{
	return vmap(mem->pages, mem->nr_pages, VM_MAP, PAGE_KERNEL);
}

static void mem_vm_open(struct vm_area_struct *vma)
{
	struct dmanic_mem *mem = vma->vm_private_data;

	refcount_inc(&mem->ref);
}

static void mem_vm_close(struct vm_area_struct *vma)
{
	dmanic_mem_put_sleep(vma->vm_private_data);
}

static const struct vm_operations_struct mem_vm_ops = {
	.open = mem_vm_open,
	.close = mem_vm_close,
};

/**
 * dmanic_mem_mmap() - map part of it
 * @mem: our pages, not user memory
 * @vma: whole pages, shared
 * @offset: bytes into @mem
 *
 * Return: 0; -EINVAL private, beyond the end or user memory; -ENOMEM.
 */
int dmanic_mem_mmap(struct dmanic_mem *mem, struct vm_area_struct *vma, u64 offset)
{
	unsigned long first = offset >> PAGE_SHIFT;
	int ret;

	if (!(vma->vm_flags & VM_SHARED) || mem->user_pages)
		return -EINVAL;
	if (!dmanic_range_ok(mem->nr_pages, first, vma_pages(vma)))
		return -EINVAL;
	first = array_index_nospec(first, mem->nr_pages);

	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTCOPY | VM_DONTDUMP);
	ret = vm_map_pages_zero(vma, mem->pages + first, mem->nr_pages - first);
	if (ret)
		return ret;
	refcount_inc(&mem->ref);
	vma->vm_private_data = mem;
	vma->vm_ops = &mem_vm_ops;
	return 0;
}

/* Whole pages of @mem at the fault and behind it; NOPAGE: there is one now */
static vm_fault_t mem_fault_pages(struct dmanic_mem *mem, struct vm_fault *vmf,
				  unsigned long page, unsigned long nr)
{
	unsigned long left = nr;
	int ret;

	ret = vm_insert_pages(vmf->vma, vmf->address, mem->pages + page, &left);
	/* EBUSY: from here on somebody else was faster */
	if (left < nr || ret == -EBUSY)
		return VM_FAULT_NOPAGE;
	return vmf_error(ret);
}

/* The same for memory of a program: anonymous pages have one place only */
static vm_fault_t mem_fault_pfns(struct dmanic_mem *mem, struct vm_fault *vmf,
				 unsigned long page, unsigned long nr)
{
	vm_fault_t ret = VM_FAULT_SIGBUS;
	unsigned long i;

	for (i = 0; i < nr; i++) {
		ret = vmf_insert_pfn(vmf->vma, vmf->address + i * PAGE_SIZE,
				     page_to_pfn(mem->pages[page + i]));
		if (ret != VM_FAULT_NOPAGE)
			break;
	}
	return i ? VM_FAULT_NOPAGE : ret;
}

/**
 * dmanic_mem_fault() - map the page of a fault, and some behind it
 * @mem: kept by the caller, who also takes the pages away again
 * @vmf: of a mapping with VM_MIXEDMAP; for user memory with VM_PFNMAP
 * @page: which page of @mem
 *
 * Return: VM_FAULT_NOPAGE when it is there, _OOM, _SIGBUS.
 */
vm_fault_t dmanic_mem_fault(struct dmanic_mem *mem, struct vm_fault *vmf,
			    unsigned long page)
{
	unsigned long nr;

	if (page >= mem->nr_pages)
		return VM_FAULT_SIGBUS;
	page = array_index_nospec(page, mem->nr_pages);
	nr = min3(mem->nr_pages - page, MEM_FAULT_PAGES - page % MEM_FAULT_PAGES,
		  (vmf->vma->vm_end - vmf->address) >> PAGE_SHIFT);
	if (mem->user_pages)
		return mem_fault_pfns(mem, vmf, page, nr);
	return mem_fault_pages(mem, vmf, page, nr);
}

/**
 * dmanic_mem_run() - the contiguous piece at an offset
 * @mem: the memory
 * @offset: into @mem
 * @length: at most so many bytes, which are within @mem
 * @addr: out: its kernel address
 *
 * Return: its bytes, MEM_MAX_RUN at most.
 */
size_t dmanic_mem_run(const struct dmanic_mem *mem, u64 offset, u64 length,
		      void **addr)
{
	u64 pos = mem->first + offset;
	struct page **page = dmanic_mem_page(mem, pos);
	size_t run = PAGE_SIZE - offset_in_page(pos);

	*addr = page_address(*page) + offset_in_page(pos);
	length = min_t(u64, length, MEM_MAX_RUN);
	while (run < length && page[1] == page[0] + 1) {
		run += PAGE_SIZE;
		page++;
	}
	return min_t(u64, run, length);
}

/**
 * dmanic_mem_piece() - the block, or page, that an offset is in
 * @mem: the memory
 * @offset: into @mem
 * @length: the piece ends there, at most the length of @mem
 *
 * Found in a few instructions, so it may be smaller than it could be. Return: the
 * piece; empty when there is no byte at @offset.
 */
struct dmanic_piece dmanic_mem_piece(const struct dmanic_mem *mem, u64 offset,
				     u64 length)
{
	u64 pos = mem->first + offset, start = 0, end = mem->first + length;
	struct dmanic_piece piece = {};
	struct folio *folio;
	struct page *page;

	if (offset >= length)
		return piece;
	if (!mem->linear) {
		page = *dmanic_mem_page(mem, pos);
		/* Of user memory, the rest of a large folio may be elsewhere */
		folio = mem->user_pages ? NULL : page_folio(page);
		start = round_down(pos, PAGE_SIZE);
		if (folio)
			start -= (u64)folio_page_idx(folio, page) << PAGE_SHIFT;
		end = min_t(u64, end, start + (folio ? folio_size(folio) : PAGE_SIZE));
		/* The first page may begin in its middle */
		start = max_t(u64, start, mem->first);
	} else {
		start = mem->first;
	}
	piece.offset = start - mem->first;
	piece.bytes = end - start;
	piece.addr = dmanic_mem_addr(mem, piece.offset);
	return piece;
}

/**
 * dmanic_mem_copy() - copy between two memories
 * @dst: where to
 * @dst_offset: into @dst
 * @src: where from; may be @dst, but overlapping ranges give no defined content
 * @src_offset: into @src
 * @length: bytes; both ranges were checked
 */
void dmanic_mem_copy(struct dmanic_mem *dst, u64 dst_offset, struct dmanic_mem *src,
		     u64 src_offset, u64 length)
{
	void *to, *from;
	size_t run;

	while (length) {
		run = dmanic_mem_run(dst, dst_offset, length, &to);
		run = dmanic_mem_run(src, src_offset, run, &from);
		memmove(to, from, run);
		dst_offset += run;
		src_offset += run;
		length -= run;
	}
}

/**
 * dmanic_mem_read() - a copy that a program cannot change any more
 * @mem: where from; a program may be writing there
 * @offset: into @mem
 * @to: room for @length bytes
 * @length: bytes; the range was checked
 *
 * Not inline: the compiler must not read @mem once more instead of @to.
 */
noinline void dmanic_mem_read(const struct dmanic_mem *mem, u64 offset, void *to,
			      size_t length)
{
	void *from;
	size_t run;

	for (; length; length -= run) {
		run = dmanic_mem_run(mem, offset, length, &from);
		memcpy(to, from, run);
		offset += run;
		to += run;
	}
}

int dmanic_mem_init(void)
{
	mem_wq = alloc_workqueue("dmanic_mem", WQ_UNBOUND, 0);
	return mem_wq ? 0 : -ENOMEM;
}

void dmanic_mem_exit(void)
{
	destroy_workqueue(mem_wq);
	rcu_barrier();
	WARN_ONCE(atomic_long_read(&mem_pages), "dmanic: %ld pages were not given back\n",
		  atomic_long_read(&mem_pages));
}
