import { join } from 'node:path'
import type { MirrorPacks } from '@berth/sandboxes/remote/create-driver.ts'
import { pinnedObjects, writePack } from '../git/pack-transfer.ts'
import type { Mirrors } from './mirrors.ts'

/** Gives hosts the objects of this worker's mirrors, whose credentials stay here. */
export function mirrorPacks(mirrors: Pick<Mirrors, 'directoryOf'>): MirrorPacks {
  const gitDirOf = (objects: string) => join(mirrors.directoryOf(objects), '..')
  return {
    commits: objects => pinnedObjects(gitDirOf(objects)),
    write: (objects, wanted, held, to) => writePack(gitDirOf(objects), wanted, held, to),
  }
}
