import type { Brought } from '../../checkpoints/brought.ts'
import { commonAncestor, isAncestor, newestAncestor } from '../../git/merge-trees.ts'
import type { Bring } from '../turns/bring.ts'
import type { WorkMerge } from './merge-work.ts'
import type { PublishedHead } from './published-heads-sql.ts'

/** What a workspace holds, and what is to come. */
export interface PlannedFrom {
  /** Bare repository that holds every commit that is named here, but those of `heads`. */
  readonly mirror: string
  readonly pinnedOid: string
  readonly brought: Brought | null
  readonly turnId: string
  readonly bring: readonly Bring[]
  /** The Session's own commits on branches of the host, newest first. */
  readonly heads: readonly PublishedHead[]
  /** The tip of the branch that the work goes to; null if it is not known. */
  readonly targetOid: string | null
}

/** The merges that bring commits into a workspace, in order, and what it holds after them but for conflicts. */
export interface PlannedMerges {
  readonly merges: readonly WorkMerge[]
  readonly outcome: Omit<Brought, 'conflicts' | 'conflictCount' | 'submodules'>
}

/**
 * Decides from where both sides of each merge come. Commits of the base are merged since the base before, also if its
 * branch was rewritten. Somebody's commits on the branch of the work are merged since the newest commit below them that
 * the workspace has: one of the Session's own, or the last that was brought. They come first, and may hold newer commits
 * of the base already.
 */
export async function planMerges(from: PlannedFrom, signal: AbortSignal): Promise<PlannedMerges> {
  const { mirror, pinnedOid, brought, turnId, bring } = from
  const merges: WorkMerge[] = []
  let baseOid = brought?.baseOid ?? pinnedOid
  let head = brought?.head ?? null
  const pushed = bring.find(({ kind }) => kind === 'pushed')
  if (pushed !== undefined && head?.oid !== pushed.oid) {
    merges.push({ ...pushed, ...(await originOf(from, pushed.oid, baseOid, signal)) })
    const { targetOid } = from
    const contained = targetOid === null ? null : await commonAncestor(mirror, pushed.oid, targetOid, signal)
    if (contained !== null && (await isAncestor(mirror, baseOid, contained, signal))) baseOid = contained
    head = { oid: pushed.oid, baseOid: contained ?? baseOid }
  }
  const base = bring.find(({ kind }) => kind === 'base')
  if (base !== undefined && base.oid !== baseOid) {
    const holds = merges.length > 0 && (await isAncestor(mirror, base.oid, baseOid, signal))
    if (!holds) {
      merges.push({ ...base, from: baseOid, fromPack: null })
      baseOid = base.oid
    }
  }
  const merged = merges.map(({ kind, oid }) => ({ kind, oid }))
  return { merges, outcome: { baseOid, head, turnId, merged } }
}

/** Returns from what a workspace and somebody's commits on the branch of its work both come. */
async function originOf(
  { mirror, brought, heads }: PlannedFrom,
  oid: string,
  baseOid: string,
  signal: AbortSignal,
): Promise<Pick<WorkMerge, 'from' | 'fromPack'>> {
  const own = heads.map(({ commit_sha }) => commit_sha)
  const theirs = brought?.head?.oid
  const candidates = theirs === undefined ? own : [...own, theirs]
  const below = await newestAncestor(mirror, oid, candidates, signal)
  if (below !== null) return { from: below, fromPack: null }
  // The branch was rewritten, so nothing below says where theirs began. What they saw was the last that was put there.
  const [newest] = heads
  if (newest !== undefined) return { from: newest.head_tree, fromPack: newest.pack_sha256 }
  return { from: baseOid, fromPack: null }
}
