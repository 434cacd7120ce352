import { randomUUID } from 'node:crypto'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { treePath, upperLayerVariable } from '@berth/supervisor/tree'
import type { HelperBounds } from '../helper-bounds.ts'
import { type ProgramRun, type TreeAccess, TreeUnfinishedError } from '../lease-program.ts'
import { listUpperLayer, type UpperLayer } from '../linux/upper-layer.ts'
import type { Tree } from '../tree.ts'
import { Baselines } from './baselines.ts'
import { confine, FIRST_DESCRIPTOR } from './confined.ts'

/** A directory of this host with an owner. */
export interface TreePlace {
  /** A directory that no sandbox can move or replace. Its content is untrusted. */
  readonly path: string
  /** Owner of all its content. Undefined if that is this process's own user. */
  readonly uid?: number
  /** An overlay in it; its upper layer tells a seal what may have changed. */
  readonly overlay?: UpperLayer
  /** Words of a command that mounts it, and becomes the command that follows. */
  readonly launcher?: readonly string[]
}

/** The tree program, and how this host starts it. */
export interface TreeTools {
  /** Node's binary. */
  readonly nodePath: string
  /** The bundle, `tree.cjs`. */
  readonly programPath: string
  /** Name or path of the bubblewrap program. */
  readonly bwrap?: string
}

const inside = { node: '/opt/berth/node', program: '/opt/berth/tree.cjs' } as const
/** Four threads: two for the cores that compress, two that wait for input. */
const environment = { UV_THREADPOOL_SIZE: '4', PATH: '/usr/sbin:/usr/bin:/sbin:/bin' } as const
const GIB = 1024 ** 3
/**
 * Node aborts at start with less than 1 GiB of private memory, most of which it never touches. A reader writes only the
 * new baseline, which grows with the file list.
 */
const treeBounds = {
  read: { memoryBytes: 3 * GIB, cpuSeconds: 300, fileBytes: GIB },
  write: { memoryBytes: 3 * GIB, cpuSeconds: 600, fileBytes: 16 * GIB },
} as const satisfies Record<TreeAccess, HelperBounds>
/** A larger young generation saves a tenth of a walk's time, because all its objects are short-lived. */
const nodeOptions = ['--max-old-space-size=1024', '--min-semi-space-size=16', '--max-semi-space-size=32'] as const

/**
 * Returns a directory as a tree.
 * @param directory of its baselines; made with the first one, and it lives as long as the tree
 */
export const directoryTree = (tools: TreeTools, place: TreePlace, directory: string): Tree =>
  treeWithBaselines((access, handles) => startTreeProgram(tools, place, access, handles), directory)

/** Starts the tree program at a tree, with descriptors from 3 upwards. */
export type StartTree = (access: TreeAccess, handles: readonly FileHandle[]) => Promise<ProgramRun>

/** Returns a tree whose programs are started in some way, with its baselines in a directory. */
export function treeWithBaselines(start: StartTree, directory: string): Tree {
  const baselines = new Baselines(directory)
  return {
    async run(access, baseline) {
      if (baseline === undefined) return start(access, [])
      // An unfinished restore is not the sandbox's tree; sealed, it would replace the whole tree.
      if (access === 'read' && (await baselines.isUnfinished())) {
        throw new TreeUnfinishedError('a restore into the tree has not finished')
      }
      const { previous } = baseline
      const { id, handle } = await baselines.begin()
      // The program has copies of both once it is started.
      await using next = handle
      await using before = previous === undefined ? undefined : await baselines.read(previous)
      if (access === 'write') await baselines.begun()
      try {
        const descriptors = [next, ...(before === undefined ? [] : [before])]
        const program = await start(access, descriptors)
        return { ...program, baseline: { id, hasPrevious: before !== undefined } }
      } catch (error) {
        await baselines.settle(id, 'cleared')
        throw error
      }
    },
    settle: (id, end) => baselines.settle(id, end),
  }
}

/** Returns the words that start the tree program, with its bounds and environment. */
export const treeCommand = (access: TreeAccess, nodePath: string, programPath: string) => ({
  command: [nodePath, ...nodeOptions, programPath],
  bounds: treeBounds[access],
  environment,
})

/**
 * Starts the program as the tree's owner, in its own namespaces. It has no network and sees no process of the host or
 * the sandbox. Of all files it sees only the tree, the host's programs and itself.
 *
 * It meets the tree's content with the rights of the user that put it there, so no link in the tree leads to files of
 * the service. A reader has one capability, to ignore file modes, because the agent may have closed files to itself; a
 * writer needs none.
 *
 * It does not need the sandbox, which may be frozen or gone, and it ends with this process.
 * @param handles passed on from 3 upwards
 */
async function startTreeProgram(
  tools: TreeTools,
  place: TreePlace,
  access: TreeAccess,
  handles: readonly FileHandle[],
): Promise<ProgramRun> {
  const { overlay } = place
  // Without a previous baseline the program reads everything anyway.
  if (overlay === undefined || access === 'write' || handles.length < 2) return start(tools, place, access, handles)
  const path = join(overlay.scratch, `upper-${randomUUID()}`)
  await using list = await open(path, 'wx+', 0o600)
  await rm(path)
  const listed = listUpperLayer(overlay, list)
  const variable = { [upperLayerVariable]: `${FIRST_DESCRIPTOR + handles.length}:${overlay.at}` }
  const program = await start(tools, place, access, [...handles, list], variable)
  // The program reads the list once it has its job, which whoever gets the program sends.
  await listed
  return program
}

function start(
  { nodePath, programPath, bwrap }: TreeTools,
  { path, uid, launcher }: TreePlace,
  access: TreeAccess,
  handles: readonly FileHandle[],
  variables: Readonly<Record<string, string>> = {},
): Promise<ProgramRun> {
  const { environment, ...command } = treeCommand(access, inside.node, inside.program)
  return confine({
    ...(bwrap !== undefined && { bwrap }),
    ...(uid !== undefined && { uid }),
    ...(launcher !== undefined && { launcher }),
    readsAll: access === 'read',
    ...command,
    environment: { ...environment, ...variables },
    directories: [inside.node],
    mounts: [
      ...['--ro-bind', nodePath, inside.node, '--ro-bind', programPath, inside.program],
      ...[access === 'read' ? '--ro-bind' : '--bind', path, treePath],
    ],
    descriptors: handles.map(({ fd }) => fd),
  })
}
