import { PassThrough, type Readable } from 'node:stream'
import { boundOf } from '@berth/sandboxes/helper-bounds.ts'
import { insidePaths } from '@berth/sandboxes/inside-paths.ts'
import { diskExceeded, hasSucceeded, scratchPath } from '@berth/sandboxes/lease-program.ts'
import { confinedGitEnvironment } from '../../git/git-environment.ts'
import { storable } from '../log/bounded-text.ts'
import { overBound, type ReviewPlace, ReviewRefused } from './review-place.ts'
import { readerFiles } from './tree-script/agent-index.ts'
import { treeScript } from './tree-script/tree-script.ts'

/** The tree as the confined program reports it, while it runs. */
export interface WrittenTree {
  /** 40 lower-case hex; the program's claim, to be checked. */
  readonly tree: string
  /** The pack of the objects that the base lacks; empty if the trees are equal. */
  readonly pack: Readable
  /**
   * Waits for the program's end.
   * @returns its notes about the workspace, a line each
   * @throws ReviewRefused if the program failed
   */
  ended(): Promise<readonly string[]>
  /** Ends the program. @returns whether it was ended before, for what it wrote to its directory */
  end(): Promise<boolean>
}

const OID = /^[0-9a-f]{40}\n$/

/**
 * Objects are short-lived here, so git does not sync them. With this threshold `git add` writes files into one pack
 * instead of a file each, and the last pack is copied from that: a third of the time for a thousand changed files.
 */
const config = `[core]
\trepositoryformatversion = 0
\tbare = false
\tbigFileThreshold = 1
\tcompression = 1
\tfsync = none
\thooksPath = /dev/null
\tfsmonitor = false
\tattributesFile = /dev/null
\texcludesFile = /dev/null
\tprotectHFS = true
\tprotectNTFS = true
[gc]
\tauto = 0
[pack]
\tcompression = 1
`
/**
 * The repository that it writes to, and others that only borrow: `known` from the mirror, `reader` also from the
 * agent's repository, and `lender` from one submodule after another.
 */
const directories = ['git', 'known', 'reader', 'lender'].flatMap(name => [
  name,
  ...['info', 'refs', 'objects', 'objects/info', 'objects/pack'].map(path => `${name}/${path}`),
])
const head = 'ref: refs/heads/none\n'
const files = {
  'git/HEAD': head,
  'git/config': config,
  'git/objects/info/alternates': `${insidePaths.objects}\n`,
  'known/HEAD': head,
  'known/objects/info/alternates': `${insidePaths.objects}\n`,
  'lender/HEAD': head,
  ...readerFiles,
} as const

/**
 * Starts the program that writes the tree of a workspace, as the workspace's owner. It sees the workspace and the
 * mirror's objects, read-only, a directory of its own, and no network. The workspace's content can make it report a
 * wrong tree of the workspace, and can do no other harm.
 * @param baseTree may become known while the program starts
 * @throws ReviewRefused, the rejection of `baseTree`, or the signal's reason
 */
export async function writeTree(
  place: ReviewPlace,
  baseTree: string | Promise<string>,
  signal: AbortSignal,
): Promise<WrittenTree> {
  const program = await place.run({
    kind: 'script',
    script: treeScript,
    environment: {
      ...confinedGitEnvironment,
      GIT_DIR: `${scratchPath}/git`,
      GIT_WORK_TREE: insidePaths.project,
      GIT_INDEX_FILE: `${scratchPath}/index`,
      // There is no /tmp, and `sort` writes what a pipe brings beyond about a mebibyte to a file.
      TMPDIR: scratchPath,
    },
    trees: { workspace: 'read' },
    readsAll: true,
    listsChanges: true,
    objects: place.objects,
    scratch: { directories, files, bytes: place.bounds.scratchBytes },
    bounds: place.bounds.git,
  })
  program.ended.catch(() => undefined)
  // At once: output that nobody reads before a process ends is thrown away.
  const output = program.output.pipe(new PassThrough())
  const kill = () => program.kill()
  signal.addEventListener('abort', kill, { once: true })
  if (signal.aborted) kill()
  try {
    program.input.end(`${await baseTree}\n`)
  } catch (error) {
    kill()
    throw error
  }
  const ended = async () => {
    const outcome = await program.ended.finally(() => signal.removeEventListener('abort', kill))
    signal.throwIfAborted()
    if (!hasSucceeded(outcome)) throw refusalOf(outcome)
    return notesOf(outcome)
  }
  const line = await firstLine(output)
  if (line === null) {
    await ended()
    throw new ReviewRefused('the program that writes the tree printed nothing')
  }
  if (!OID.test(line)) {
    kill()
    throw new ReviewRefused('the program that writes the tree printed no tree')
  }
  const end = async () => {
    kill()
    return (await program.ended) === diskExceeded
  }
  return { tree: line.trim(), pack: output, ended, end }
}

/** Returns the lines that a successful program wrote to its error output. Several of its gits may say the same. */
function notesOf(outcome: string): readonly string[] {
  const lines = outcome.slice(1).split('\n')
  return [...new Set(lines.map(line => storable(line).trim()))].filter(line => line !== '')
}

/** Returns the refusal for the program's end: a bound of the service, or git's words about a file, which it names. */
function refusalOf(outcome: string): ReviewRefused {
  if (outcome === diskExceeded) return new ReviewRefused(overBound('disk'))
  const [end = '', ...rest] = outcome.split(' ')
  const message = rest.join(' ')
  const over = boundOf(/^\d+$/.test(end) ? Number(end) : end, message)
  if (over !== undefined) return new ReviewRefused(overBound(over), { cause: new Error(outcome) })
  const fatal = message.lastIndexOf('fatal: ')
  return new ReviewRefused(
    `the changes cannot be taken: ${message.slice(Math.max(0, fatal)).trim() || `exit code ${end}`}`,
  )
}

const OID_LINE_BYTES = 41

/** Takes the id of the tree off the front; null if the output ends before. */
async function firstLine(output: Readable): Promise<string | null> {
  for (;;) {
    const line: Buffer | null = output.read(OID_LINE_BYTES)
    if (line !== null) return line.length === OID_LINE_BYTES ? line.toString('latin1') : null
    if (output.readableEnded || output.destroyed) return null
    await new Promise<void>(resolve => {
      const done = () => {
        output.off('readable', done).off('end', done).off('close', done)
        resolve()
      }
      output.once('readable', done).once('end', done).once('close', done)
    })
  }
}
