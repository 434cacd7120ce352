import type { Clock } from '@berth/platform/kit/clock.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'
import { defaultIdentity, type GitIdentity } from '../../git/git-identity.ts'
import { canMerge, mergeCommits } from '../../git/merge-commits.ts'
import type { RemoteAccess } from '../../git/remote-access.ts'
import {
  type GitHost,
  GitHostError,
  type HostBranch,
  type HostCheck,
  type HostPull,
  type HostRepository,
  type MergePullRequest,
  type OpenPullRequest,
  type RepositoryListing,
  type RepositoryRef,
  type UnbornBranch,
} from '../git-host.ts'
import type { HostFollowing } from '../host-following.ts'
import { endOf } from '../log-tail.ts'
import { findHead, findHeads } from './default-branch.ts'
import { localFollowing } from './local-following.ts'
import { broughtIn, contains, git, inBounds, mergeMessage, moveBase, ofMerge, utf8Lines } from './local-git.ts'
import * as sql from './local-sql.ts'
import { findRepositories, type LocalPath, localPath } from './repositories.ts'
import { type BranchRule, blockersOf, type Check, type CheckState } from './rules.ts'
import { provideSample } from './sample.ts'
import { toRepository } from './to-repository.ts'

/** Account of every repository of a data directory. */
export const LOCAL_ACCOUNT = 'local'
/** Id of the local host. */
export const LOCAL_HOST = 'local'

interface Located extends LocalPath {
  readonly id: string
}

/** Most bytes that are kept of the output of a check. */
const MAX_OUTPUT_BYTES = 65_536

/** Attempts at a merge whose base branch moves meanwhile. */
const MAX_MERGES = 5

/**
 * The embedded default host: bare repositories below the data directory, with pull requests, branch rules and checks of
 * the service's own in PostgreSQL. It asks git each time for all that git can tell; rows hold the rest.
 *
 * A merge first records its intent. It then moves the base branch by compare and swap from its tip before any other
 * read, and last closes the pull request. A reader, after a crash or beside another merge, therefore either finds an
 * intended commit in the base, so the pull request is merged, or cannot move the base from the tip that it read.
 */
export class LocalHost implements GitHost {
  readonly id = LOCAL_HOST
  readonly kind = 'local'
  readonly following: HostFollowing
  readonly #db: Database
  readonly #clock: Clock
  readonly #root: string
  readonly #consoleUrl: () => string
  readonly #committer: GitIdentity

  /**
   * @param root directory of `<owner>/<name>.git`
   * @param consoleUrl where people look at pull requests and repositories
   */
  constructor(db: Database, clock: Clock, root: string, consoleUrl: () => string, committer = defaultIdentity) {
    this.#db = db
    this.#clock = clock
    this.#root = root
    this.#consoleUrl = consoleUrl
    this.#committer = committer
    this.following = localFollowing(db, clock, this, consoleUrl)
  }

  async readAccount(account: string): Promise<string> {
    if (account !== LOCAL_ACCOUNT) throw new GitHostError('not_found', `there is no account ${account}`)
    return LOCAL_ACCOUNT
  }

  async listRepositories(
    account: string,
    { limit, from }: { readonly limit: number; readonly from: string | null },
    signal?: AbortSignal,
  ): Promise<RepositoryListing> {
    await this.readAccount(account)
    const { page, next } = await findRepositories(this.#root, { limit, from })
    const rows = await sql.identifyRepositories(this.#db, page)
    const ids = new Map(rows.map(({ owner, name, id }) => [`${owner}/${name}`, id]))
    const located = page.flatMap(path => {
      const id = ids.get(`${path.owner}/${path.name}`)
      return id === undefined ? [] : [{ ...path, id }]
    })
    const heads = await findHeads(located, signal)
    return { repositories: heads.map(([each, head]) => toRepository(each, head, this.#consoleUrl())), next }
  }

  async readRepository(ref: RepositoryRef, signal?: AbortSignal): Promise<HostRepository> {
    const located = await this.#locate(ref)
    return toRepository(located, await findHead(located.gitDir, signal), this.#consoleUrl())
  }

  async readBranch(ref: RepositoryRef, branch: string, signal?: AbortSignal): Promise<HostBranch> {
    const located = await this.#locate(ref)
    const oid = await this.#tip(located, branch, signal)
    if (oid === null) throw new GitHostError('not_found', `there is no branch ${branch}`, { subject: 'branch' })
    return { name: branch, oid, protected: (await sql.findRule(this.#db, located.id, branch)) !== null }
  }

  async readUnbornBranch(ref: RepositoryRef, branch: string, signal?: AbortSignal): Promise<UnbornBranch | null> {
    const located = await this.#locate(ref)
    if (!(await findHead(located.gitDir, signal)).empty) return null
    const format = await git(['rev-parse', '--show-object-format'], { ...located, exits: [0], signal })
    return {
      protected: (await sql.findRule(this.#db, located.id, branch)) !== null,
      objectFormat: format === 'sha256' ? 'sha256' : 'sha1',
    }
  }

  async listBranches(
    ref: RepositoryRef,
    { prefix, limit }: { readonly prefix: string; readonly limit: number },
    signal?: AbortSignal,
  ): Promise<readonly string[]> {
    const { gitDir } = await this.#locate(ref)
    const list = ['for-each-ref', '--format=%(refname)', 'refs/heads/']
    const shown = await utf8Lines(list, { gitDir, exits: [0], signal })
    const names = shown.map(name => name.slice('refs/heads/'.length))
    return names.filter(name => name !== '' && name.startsWith(prefix)).slice(0, limit)
  }

  async access(ref: RepositoryRef, _right: 'read' | 'write'): Promise<RemoteAccess> {
    return { url: (await this.#locate(ref)).gitDir }
  }

  async findOpenPull(
    ref: RepositoryRef,
    branches: { readonly head: string; readonly base: string },
    signal?: AbortSignal,
  ): Promise<HostPull | null> {
    const located = await this.#locate(ref)
    const base = await this.#tip(located, branches.base, signal)
    const row = await sql.findOpenPull(this.#db, located.id, branches)
    const pull = row === null ? null : await this.#toPull(located, row, base, signal)
    return pull?.state === 'open' ? pull : null
  }

  async openPull(ref: RepositoryRef, pull: OpenPullRequest, signal?: AbortSignal): Promise<HostPull> {
    const located = await this.#locate(ref)
    const [head, base] = [await this.#tip(located, pull.head, signal), await this.#tip(located, pull.base, signal)]
    if (head === null || base === null || pull.head === pull.base) {
      throw new GitHostError('invalid', 'a pull request needs two different branches that exist')
    }
    const shared = await git(['merge-base', base, head], { gitDir: located.gitDir, exits: [0, 1], signal })
    if (shared === '' || shared === head) {
      throw new GitHostError('invalid', 'the head needs commits that the base lacks, and history in common with it')
    }
    const row = await this.#db.transaction(tx =>
      sql.insertPull(tx, {
        repository_id: located.id,
        title: pull.title,
        body: pull.body,
        draft: pull.draft,
        head_branch: pull.head,
        base_branch: pull.base,
        head_oid: head,
        created_at: this.#clock.now(),
      }),
    )
    if (row === null) throw new GitHostError('conflict', 'a pull request is open for these branches')
    return this.#toPull(located, row, base, signal)
  }

  async readPull(ref: RepositoryRef, number: number, signal?: AbortSignal): Promise<HostPull> {
    const located = await this.#locate(ref)
    const { row, base } = await this.#pull(located, number, signal)
    return this.#toPull(located, row, base, signal)
  }

  async describePull(ref: RepositoryRef, number: number, body: string): Promise<void> {
    await sql.describePull(this.#db, (await this.#locate(ref)).id, number, body)
  }

  async readChecks(
    ref: RepositoryRef,
    { headOid, baseBranch }: Pick<HostPull, 'headOid' | 'baseBranch'>,
  ): Promise<HostCheck[]> {
    const { id } = await this.#locate(ref)
    const required = (await sql.findRule(this.#db, id, baseBranch))?.required_checks ?? []
    const reported = await sql.listChecks(this.#db, id, headOid)
    const missing = required.filter(name => reported.every(check => check.name !== name))
    return [
      ...reported.map(({ name, state }) => ({ name, state, url: null, required: required.includes(name) })),
      ...missing.map(name => ({ name, state: 'missing' as const, url: null, required: true })),
    ]
  }

  async mergePull(
    ref: RepositoryRef,
    merge: MergePullRequest,
    signal?: AbortSignal,
  ): Promise<{ readonly mergeCommitOid: string }> {
    const located = await this.#locate(ref)
    for (let attempt = 0; attempt < MAX_MERGES; attempt++) {
      const mergeCommitOid = await this.#tryMerge(located, merge, signal)
      if (mergeCommitOid !== null) return { mergeCommitOid }
    }
    throw new GitHostError('unavailable', `the base branch moved during each of ${MAX_MERGES} attempts to merge`)
  }

  /** Returns the sample repository of this name, and makes it at its first use. */
  async provideSample(owner: string, name: string): Promise<RepositoryRef> {
    await provideSample(this.#root, owner, name)
    const sample = await this.findRepository(`${owner}/${name}`)
    if (sample === null) throw new GitHostError('unavailable', 'the sample repository is gone')
    return sample
  }

  /** Finds a repository by its name; null if there is none. */
  async findRepository(fullName: string): Promise<RepositoryRef | null> {
    const [owner = '', name = '', ...more] = fullName.split('/')
    const path = more.length === 0 ? await localPath(this.#root, owner, name) : null
    const [row] = path === null ? [] : await sql.identifyRepositories(this.#db, [path])
    return row === undefined ? null : { account: LOCAL_ACCOUNT, repositoryId: row.id }
  }

  /** Lists the rules of a repository's branches, in the order of their names. */
  async listRules(ref: RepositoryRef): Promise<BranchRule[]> {
    const { id } = await this.#locate(ref)
    const rows = await sql.listRules(this.#db, id)
    return rows.map(({ branch, required_checks: requiredChecks }) => ({ branch, requiredChecks }))
  }

  /** Protects a branch: no direct push, and pull requests into it need these checks. Null lifts the protection. */
  async setRule(ref: RepositoryRef, branch: string, rule: { requiredChecks: readonly string[] } | null): Promise<void> {
    const { id } = await this.#locate(ref)
    if (rule === null) await sql.deleteRule(this.#db, id, branch)
    else await sql.putRule(this.#db, id, { branch, required_checks: rule.requiredChecks })
  }

  /** Records the state of a check of a commit, in place of its earlier one. */
  async recordCheck(
    ref: RepositoryRef,
    check: { oid: string; name: string; state: CheckState; output?: string },
  ): Promise<void> {
    const { id } = await this.#locate(ref)
    const output = check.output === undefined ? null : endOf(check.output, MAX_OUTPUT_BYTES)
    await sql.putCheck(this.#db, id, { ...check, output, now: this.#clock.now() })
  }

  /** Lists the checks of a commit, in the order of their names. */
  async listChecks(ref: RepositoryRef, oid: string): Promise<Check[]> {
    const rows = await sql.listChecks(this.#db, (await this.#locate(ref)).id, oid)
    return rows.map(({ name, state, updated_at: updatedAt }) => ({ name, state, updatedAt }))
  }

  /**
   * Returns true if the repository has this commit, on any branch.
   * @param oid 40 lower-case hex
   */
  async hasCommit(ref: RepositoryRef, oid: string): Promise<boolean> {
    const { gitDir } = await this.#locate(ref)
    return (await git(['cat-file', '-t', oid], { gitDir, exits: [0, 128], signal: undefined })) === 'commit'
  }

  /**
   * Tries to merge once.
   * @returns null if the base branch or the head moved meanwhile
   */
  async #tryMerge(located: Located, merge: MergePullRequest, signal?: AbortSignal): Promise<string | null> {
    const { row, base } = await this.#pull(located, merge.number, signal)
    const pull = await this.#toPull(located, row, base, signal)
    if (pull.state !== 'open') throw new GitHostError('not_mergeable', `the pull request is ${pull.state}`)
    if (pull.headOid !== merge.expectedHeadOid) throw new GitHostError('head_moved', 'the head is another commit')
    if (pull.mergeable !== 'yes' || base === null) throw new GitHostError('not_mergeable', pull.blockers.join(', '))
    const oid = await inBounds(
      mergeCommits({
        gitDir: located.gitDir,
        baseOid: base,
        headOid: pull.headOid,
        strategy: merge.strategy,
        message: mergeMessage(row, merge),
        committer: { ...this.#committer, at: this.#clock.now() },
        ...(signal && { signal }),
      }),
    )
    if (oid === null) throw new GitHostError('not_mergeable', 'conflict')
    const intent = { commit_oid: oid, head_oid: pull.headOid }
    await sql.intendMerge(this.#db, row, intent)
    if (!(await moveBase(located.gitDir, row, intent, base))) return null
    await sql.closeMerged(this.#db, row, intent)
    return oid
  }

  /**
   * Returns a pull request in its present state.
   * @param base tip of the base branch before the row was read; null if there is none
   */
  async #toPull(located: Located, row: sql.LocalPullRow, base: string | null, signal?: AbortSignal): Promise<HostPull> {
    const state = row.state === 'open' ? await this.#readState(located, row, base, signal) : row
    const open = state.state === 'open'
    const blockers = open ? await this.#blockers(located, row, { base, head: state.head_oid }, signal) : []
    return {
      number: row.number,
      url: `${this.#consoleUrl()}/pulls/${located.id}/${row.number}`,
      title: row.title,
      body: row.body,
      draft: row.draft,
      fromFork: false,
      state: state.state,
      headBranch: row.head_branch,
      headOid: state.head_oid,
      baseBranch: row.base_branch,
      ...(state.state === 'merged' && state.merge_commit_oid !== null && { mergeCommitOid: state.merge_commit_oid }),
      mergeable: open && blockers.length === 0 ? 'yes' : 'no',
      blockers,
    }
  }

  /**
   * Reads the state of an open pull request from its branches. It is merged if a process merged it and could not record
   * that, or if somebody merged it with git by hand. It is closed if its head or base is gone. A head that was set back
   * to a commit that the base has had all along is not merged.
   */
  async #readState(
    located: Located,
    row: sql.LocalPullRow,
    base: string | null,
    signal?: AbortSignal,
  ): Promise<Pick<sql.LocalPullRow, 'state' | 'head_oid' | 'merge_commit_oid'>> {
    for (const intent of base === null ? [] : await sql.listIntents(this.#db, row)) {
      if (base === null || !(await contains(located.gitDir, base, intent.commit_oid, signal))) continue
      await sql.closeMerged(this.#db, row, intent)
      return { state: 'merged', head_oid: intent.head_oid, merge_commit_oid: intent.commit_oid }
    }
    const head = await this.#tip(located, row.head_branch, signal)
    if (base !== null && (await contains(located.gitDir, base, row.head_oid, signal))) {
      const last = head ?? row.head_oid
      if (last === row.head_oid || (await contains(located.gitDir, base, last, signal))) {
        const merged = { commit_oid: await broughtIn(located.gitDir, base, last, signal), head_oid: last }
        await sql.closeMerged(this.#db, row, merged)
        return { state: 'merged', head_oid: last, merge_commit_oid: merged.commit_oid }
      }
    }
    if (head === null || base === null) return { ...row, state: 'closed' }
    if (head !== row.head_oid) await sql.moveHead(this.#db, row, head)
    return { ...row, head_oid: head }
  }

  async #blockers(
    located: Located,
    row: sql.LocalPullRow,
    { base, head }: { readonly base: string | null; readonly head: string },
    signal?: AbortSignal,
  ) {
    const both = { gitDir: located.gitDir, headOid: head, ...(signal && { signal }) }
    // A merge that goes over a bound cannot be merged here, as if it conflicted.
    const mergeable = base !== null && (await inBounds(canMerge({ ...both, baseOid: base })).catch(ofMerge)) === true
    return blockersOf({
      conflicts: !mergeable,
      draft: row.draft,
      rule: await sql.findRule(this.#db, located.id, row.base_branch),
      passedChecks: await sql.listPassedChecks(this.#db, located.id, head),
    })
  }

  /** Reads a pull request's row, and before it the tip of its base branch. */
  async #pull(
    located: Located,
    number: number,
    signal?: AbortSignal,
  ): Promise<{ row: sql.LocalPullRow; base: string | null }> {
    const known = await this.#row(located, number)
    const base = await this.#tip(located, known.base_branch, signal)
    return { base, row: await this.#row(located, number) }
  }

  async #row(located: Located, number: number): Promise<sql.LocalPullRow> {
    const row = await sql.findPull(this.#db, located.id, number)
    if (row === null) throw new GitHostError('not_found', `no pull request ${number}`, { subject: 'pull' })
    return row
  }

  async #locate({ account, repositoryId }: RepositoryRef): Promise<Located> {
    const known = account === LOCAL_ACCOUNT && /^[0-9]{1,19}$/.test(repositoryId)
    const row = known ? await sql.findRepository(this.#db, repositoryId) : null
    const path = row === null ? null : await localPath(this.#root, row.owner, row.name)
    if (row === null || path === null) {
      throw new GitHostError('not_found', `no repository ${repositoryId}`, { subject: 'repository' })
    }
    return { ...path, id: row.id }
  }

  /** Returns the commit of a branch by its exact name, without git's revision language. */
  async #tip({ gitDir }: LocalPath, branch: string, signal?: AbortSignal): Promise<string | null> {
    const name = `refs/heads/${branch}`
    const shown = await git(['show-ref', '--verify', '--hash', '--', name], { gitDir, exits: [0, 1, 128], signal })
    return /^[0-9a-f]{40}$/.test(shown) ? shown : null
  }
}
