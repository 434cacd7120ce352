import { createHash } from 'node:crypto'
import { GitHostError, type HostComment, type HostPull, type MergePullRequest } from '@berth/core/git-hosts/git-host.ts'
import type {
  FollowedComment,
  FollowedReview,
  HostFollowing,
  Observation,
} from '@berth/core/git-hosts/host-following.ts'

/** A pull request of the played host. */
export interface PlayedPull {
  readonly number: number
  head: string
  base: string
  state: HostPull['state']
  branchDeleted: boolean
  locked: boolean
  blockers: HostPull['blockers']
  check: { id: string; state: 'success' | 'failure' }
  /** Its host lets nobody merge it. */
  held: boolean
  readonly reviews: FollowedReview[]
  readonly comments: (FollowedComment & { readonly ours: boolean })[]
  /** Commits that Berth has pushed, in order. */
  readonly pushes: string[]
  version: number
}

const ann = { id: '1', login: 'ann' }
const berth = { id: '0', login: 'berth[bot]' }

/** Returns a commit's id for a text. */
export const oidOf = (text: string): string => createHash('sha1').update(text).digest('hex')

/**
 * A Git host with pull requests that a test moves. It keeps everything in memory, so it outlives the processes that the
 * test kills. Its one check runs at once and passes for each new head. A pull request is held back until the test lets it go.
 */
export class PlayedPulls {
  readonly pulls = new Map<number, PlayedPull>()
  #time = () => new Date()
  #next = 1

  constructor(time: () => Date) {
    this.#time = time
  }

  open(number: number, head: string): PlayedPull {
    const check = { id: `check ${head}`, state: 'success' as const }
    const pull: PlayedPull = {
      ...{ number, head, base: oidOf('base'), state: 'open', branchDeleted: false, locked: false, blockers: [] },
      ...{ check, held: true, reviews: [], comments: [], pushes: [], version: 1 },
    }
    this.pulls.set(number, pull)
    return pull
  }

  of(number: number): PlayedPull {
    const pull = this.pulls.get(number)
    if (pull === undefined) throw new GitHostError('not_found', 'no such pull request', { subject: 'pull' })
    return pull
  }

  /** Moves the head, from exactly the commit that it is known to have. */
  push(number: number, from: string, to: string, isOurs: boolean): boolean {
    const pull = this.of(number)
    if (pull.head === to) return true
    if (pull.head !== from) return false
    pull.head = to
    pull.blockers = []
    pull.check = { id: `check ${to}`, state: 'success' }
    if (isOurs) pull.pushes.push(to)
    pull.version++
    return true
  }

  review(number: number, id: string): void {
    const { reviews } = this.of(number)
    if (reviews.some(review => review.id === id)) return
    const comment = this.#comment(`${id}-line`, 'mend this line', { path: 'a.ts', threadId: id })
    const of = { id, author: ann, isBot: false, isOurs: false, state: 'commented', body: '' } as const
    reviews.push({ ...of, submittedAt: this.#time(), comments: [comment] })
    this.of(number).version++
  }

  comment(number: number, id: string, body: string): void {
    const { comments } = this.of(number)
    if (comments.some(comment => comment.id === id)) return
    comments.push({ ...this.#comment(id, body, {}), ours: false })
    this.of(number).version++
  }

  #comment(id: string, body: string, set: Partial<FollowedComment>): FollowedComment {
    const of = { id, author: ann, isBot: false, isOurs: false, path: null, line: null, threadId: null, body }
    return { ...of, createdAt: this.#time(), ...set }
  }

  #write(number: number, body: string, threadId: string | null): HostComment {
    const id = String(this.#next++)
    const of = { id, author: berth, isBot: true, isOurs: true, path: null, line: null, threadId, body }
    this.of(number).comments.push({ ...of, createdAt: this.#time(), ours: true })
    return { id, url: `https://played.test/${id}` }
  }

  #find(number: number, marker: string): HostComment | null {
    const found = this.of(number).comments.find(({ ours, body }) => ours && body.startsWith(marker))
    return found === undefined ? null : { id: found.id, url: `https://played.test/${found.id}` }
  }

  readPull(number: number): HostPull {
    const { head, state, held, blockers: own } = this.of(number)
    const blockers = held ? [...own, 'rules' as const] : own
    return {
      ...{ number, url: `https://played.test/pull/${number}`, title: `Pull ${number}`, body: '', draft: false },
      ...{ fromFork: false, state, headBranch: `svc/${number}`, headOid: head, baseBranch: 'main' },
      ...{ mergeable: blockers.length === 0 ? 'yes' : 'no', blockers },
    }
  }

  mergePull({ number, expectedHeadOid }: MergePullRequest): { mergeCommitOid: string } {
    const pull = this.of(number)
    if (pull.head !== expectedHeadOid) throw new GitHostError('head_moved', 'the head moved')
    if (pull.state !== 'open' || pull.held || pull.blockers.length > 0)
      throw new GitHostError('not_mergeable', 'it is not mergeable')
    pull.state = 'merged'
    pull.version++
    return { mergeCommitOid: oidOf(`merge ${pull.head}`) }
  }

  observe(number: number, since: string | null): Observation | null {
    const pull = this.of(number)
    if (since === String(pull.version)) return null
    const { check, reviews, comments } = pull
    const { id, state } = check
    const checked = {
      id,
      name: 'test',
      state,
      conclusion: state,
      url: null,
      required: true,
      completedAt: null,
      summary: null,
    }
    return {
      ...{ pull: this.readPull(number), baseOid: pull.base, branchDeleted: pull.branchDeleted, locked: pull.locked },
      ...{ labels: [], assignees: [], checks: [checked], reviews: [...reviews], comments: [...comments] },
      cursor: String(pull.version),
    }
  }

  /** The host as a process sees it: every call is a step at which a test may strike. */
  following(step: <T>(name: string, work: () => T) => Promise<T>): HostFollowing {
    return {
      rightOf: async () => 'write',
      observe: (_, number, since) => step('observe', () => this.observe(number, since)),
      checkLog: () => step('read a log', () => 'FAIL a.test.ts'),
      reply: (_, number, { threadId }, body) => step('reply', () => this.#write(number, body, threadId)),
      findReply: (_, { number }, marker) => step('find a reply', () => this.#find(number, marker)),
      findOwnComment: (_, { number }, marker) => step('find a comment', () => this.#find(number, marker)),
      addComment: (_, number, body) => step('comment', () => this.#write(number, body, null)),
      editComment: (_, id) => step('edit a comment', () => ({ id, url: '' })),
    }
  }
}
