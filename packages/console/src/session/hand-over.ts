import type { Publication } from '@berth/client'

/** A command that goes on with a Session somewhere else; `docs/cli.md` has those of `berth`. */
export interface HandOver {
  /** The end of "Copy the command …". */
  readonly name: string
  readonly command: string
}

/** Branches that a shell takes as they are. The name comes from a Git host. */
const plainBranch = /^(?!-)[\w./-]{1,255}$/

/** Returns the commands that go on in a terminal. The first one is needed once at each machine. */
export const terminalHandOvers = (origin: string, sessionId: string): readonly HandOver[] => [
  { name: 'to sign in', command: `berth login --url ${origin}` },
  { name: 'to attach', command: `berth attach ${sessionId}` },
  { name: 'to open a shell in the sandbox', command: `berth shell ${sessionId}` },
]

/** Returns the command that fetches the last delivery into somebody's own checkout; null if there is none. */
export function editorHandOver(publications: readonly Pick<Publication, 'createdAt' | 'result'>[]): HandOver | null {
  const [newest] = publications
    .filter(({ result }) => result !== undefined)
    .toSorted((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt))
  const branch = newest?.result?.branch
  if (branch === undefined || !plainBranch.test(branch)) return null
  return { name: 'to check out the branch', command: `git fetch origin ${branch} && git switch ${branch}` }
}
