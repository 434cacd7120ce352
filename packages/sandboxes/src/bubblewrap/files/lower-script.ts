import { type ScriptPlace, startLeaseScript } from '../../confined/lease-script.ts'
import type { LowerOwner } from '../../driver.ts'
import { makeLayer } from './layer-above.ts'

/** Returns the way to run scripts at directories of lower trees. */
export function lowerScripts(place: Pick<ScriptPlace, 'bwrap' | 'uid' | 'objects'>): LowerOwner['run'] {
  return async (directory, layers, script) => {
    const { path, launcher, clear } = await makeLayer(directory, layers, place.uid)
    const at = { ...place, workspace: path, home: path, scratchDir: directory }
    const run = await startLeaseScript({ ...at, ...(launcher !== undefined && { launcher }) }, script)
    return { ...run, ended: run.ended.finally(clear) }
  }
}
