import { chown, mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { insidePaths } from '../inside-paths.ts'
import {
  changesNames,
  diskExceeded,
  type LeaseScript,
  type ProgramRun,
  type ProgramScratch,
  scratchPath,
} from '../lease-program.ts'
import { withinDisk } from '../linux/disk-bound.ts'
import { listUpperLayer, type UpperLayer } from '../linux/upper-layer.ts'
import { confine } from './confined.ts'
import { type ObjectsOf, objectsDirectory } from './objects-directory.ts'
import { assertPathBelow } from './path-below.ts'

/** What a script finds on this host. */
export interface ScriptPlace {
  readonly workspace: string
  readonly home: string
  /** Owner of both. Undefined if that is this process's own user. */
  readonly uid?: number
  /** Where directories of scripts are made, out of sight of every sandbox. */
  readonly scratchDir: string
  readonly objects?: ObjectsOf | undefined
  /** Name or path of the bubblewrap program. */
  readonly bwrap?: string
  /** An overlay in the workspace. */
  readonly overlay?: UpperLayer | undefined
  /** Words of a command that becomes bubblewrap. */
  readonly launcher?: readonly string[]
}

/**
 * Starts a script at the files of a sandbox. It sees these, the host's programs and nothing else.
 * @throws TypeError if a path leads elsewhere: this process has more rights than whoever asks for the script
 */
export async function startLeaseScript(place: ScriptPlace, script: LeaseScript): Promise<ProgramRun> {
  const { bwrap, launcher, uid } = place
  const shown = shownPaths(place, script)
  if (script.scratch === undefined) return start([])
  const own = await makeScratch(place, script.scratch)
  const remove = () => void rm(own, { recursive: true, force: true }).catch(() => undefined)
  try {
    const commit = script.listsChanges === true && place.overlay?.at !== '' ? place.overlay?.commit : undefined
    const listed = commit === undefined ? undefined : listChanges(place.overlay, join(own, changesNames.list))
    const program = await start(
      ['--bind', own, scratchPath],
      commit === undefined ? {} : { [changesNames.commit]: commit },
    )
    // The script needs the list once it has its input, which whoever gets the program sends.
    await listed
    const ended = endWithin(program, own, script.scratch.bytes)
    // Nobody waits for it.
    ended.then(remove, remove)
    return { ...program, ended }
  } catch (error) {
    remove()
    throw error
  }

  function start(more: readonly string[], variables: Readonly<Record<string, string>> = {}): Promise<ProgramRun> {
    return confine({
      ...(bwrap !== undefined && { bwrap }),
      ...(launcher !== undefined && { launcher }),
      ...(uid !== undefined && { uid }),
      readsAll: script.readsAll,
      bounds: script.bounds,
      environment: { ...script.environment, ...variables },
      directories: [...shown.map(([, , target]) => `${target}/x`), ...(more.length > 0 ? [`${scratchPath}/x`] : [])],
      mounts: [...shown.flat(), ...more],
      command: ['bash', '-c', script.script],
    })
  }
}

async function listChanges(overlay: UpperLayer | undefined, path: string): Promise<void> {
  await using list = await open(path, 'wx', 0o644)
  if (overlay !== undefined) await listUpperLayer(overlay, list)
}

type Mount = readonly [how: '--bind' | '--ro-bind', source: string, target: string]

function shownPaths(place: ScriptPlace, { trees, objects, extensions = [] }: LeaseScript): readonly Mount[] {
  const shown: Mount[] = []
  for (const tree of ['workspace', 'home'] as const) {
    const access = trees[tree]
    if (access !== undefined) shown.push([access === 'read' ? '--ro-bind' : '--bind', place[tree], insidePaths[tree]])
  }
  if (objects !== undefined) {
    shown.push(['--ro-bind', objectsDirectory(place.objects, objects), insidePaths.objects])
  }
  for (const { id, directory } of extensions) {
    shown.push(['--ro-bind', directory, `${insidePaths.extensions}/${assertPathBelow(id)}`])
  }
  return shown
}

async function makeScratch({ scratchDir, uid }: ScriptPlace, { directories, files }: ProgramScratch): Promise<string> {
  for (const path of [...directories, ...Object.keys(files)]) assertPathBelow(path)
  const own = await mkdtemp(join(scratchDir, 'scratch-'))
  const paths = [own, ...directories.map(path => join(own, path))]
  for (const path of paths.slice(1)) await mkdir(path, { mode: 0o700 })
  for (const [name, content] of Object.entries(files)) {
    const path = join(own, name)
    await writeFile(path, content)
    paths.push(path)
  }
  if (uid !== undefined) for (const path of paths) await chown(path, uid, uid)
  return own
}

/** Ends the program if its directory grows over the bound. */
export function endWithin({ ended, kill }: ProgramRun, directory: string, bytes: number): Promise<string> {
  return withinDisk(directory, bytes, new AbortController().signal, async over => {
    over.addEventListener('abort', kill, { once: true })
    const outcome = await ended
    return over.aborted ? diskExceeded : outcome
  })
}
