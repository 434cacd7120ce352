import { randomUUID } from 'node:crypto'
import { chmod, cp, mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { errorCode } from '@berth/platform/kit/system-errors.ts'
import { assertPathBelow } from '../confined/path-below.ts'
import type { SandboxSpec } from '../driver.ts'
import { builtInEngine, type PodPlaces, podObjects, shownNames } from './pod-places.ts'

/** What a lease or a script is shown below `/opt`. */
export type PodContent = Pick<SandboxSpec, 'extensions' | 'objects'>

const ENGINE = 'engine.cjs'

/** Makes the directories of a pod's volumes, before its other containers look into them. */
export async function preparePlaces({ line, filesLine, platform, shown }: PodPlaces): Promise<void> {
  const inputs = join(platform, 'inputs')
  const below = Object.values(shownNames).map(name => join(shown, name))
  const mirrors = join(shown, shownNames.source, 'mirrors')
  for (const directory of [line, filesLine, platform, inputs, shown, ...below, mirrors]) {
    await mkdir(directory, { recursive: true, mode: 0o755 })
  }
  await link(builtInEngine, join(shown, shownNames.engine, ENGINE))
}

/** Shows a lease its engine: its own, if it has one. */
export async function showEngine({ shown }: PodPlaces, engine: SandboxSpec['engine']): Promise<void> {
  if (engine === undefined) return
  const path = join(shown, shownNames.engine, ENGINE)
  const fresh = `${path}.${randomUUID()}`
  await writeFile(fresh, engine, { flag: 'wx' })
  await chmod(fresh, 0o444)
  await rename(fresh, path)
}

/**
 * Shows extensions and objects in containers that run already. An extension is copied: other volumes cannot link to where
 * it lies.
 */
export async function showContent(places: PodPlaces, { extensions = [], objects }: PodContent): Promise<void> {
  const { shown, dataDir } = places
  const directory = join(shown, shownNames.extensions)
  const there = new Set(await readdir(directory))
  for (const { id, directory: source } of extensions) {
    if (there.has(id)) continue
    const fresh = join(shown, `extension-${randomUUID()}`)
    await cp(source, fresh, { recursive: true })
    await rename(fresh, join(directory, assertPathBelow(id))).catch(async (error: unknown) => {
      await rm(fresh, { recursive: true, force: true })
      if (!['EEXIST', 'ENOTEMPTY'].includes(errorCode(error) ?? '')) throw error
    })
  }
  if (objects === undefined) return
  const target = podObjects(dataDir)(objects)
  // Relative, since every container has the volume elsewhere.
  await link(`mirrors/${basename(join(target, '..'))}/objects`, join(shown, shownNames.source, 'objects'))
}

async function link(target: string, path: string): Promise<void> {
  const fresh = `${path}.${randomUUID()}`
  await symlink(target, fresh)
  await rename(fresh, path)
}
