import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { runProgram } from '../linux/run-program.ts'
import { fetchPackages } from './fetch-packages.ts'
import { installPackages } from './install-packages.ts'
import { finishEtc, stageEtc } from './layer-etc.ts'
import { type LayerPlan, layerNames } from './layer-plan.ts'

/** Files of dpkg's that tell of the system below. */
const DPKG = '/var/lib/dpkg'

/**
 * Makes a layer in an empty directory.
 *
 * First a program without rights fetches the packages, with the host's network, from the operator's sources; nothing of
 * a package runs. Then root of a user namespace of its own installs them, without any network, over an overlay of the
 * host's /usr: whatever a maintainer script does, it does to the layer.
 *
 * @param tell takes what the installation writes
 * @throws PackagesFailed, or the signal's reason
 */
export async function buildLayer(
  directory: string,
  plan: LayerPlan,
  onOutput: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const build = join(directory, 'build')
  for (const name of Object.values(layerNames)) await mkdir(join(directory, name), { mode: 0o755 })
  await mkdir(build, { mode: 0o755 })
  const etc = join(directory, layerNames.etc)
  const state = join(directory, layerNames.var, 'lib')
  try {
    await stageEtc(etc, plan.sources)
    await fetchPackages(build, etc, plan, signal)
    for (const name of ['lib', 'log', 'tmp', 'cache']) await mkdir(join(directory, layerNames.var, name))
    await runProgram('cp', ['-a', '--', DPKG, state], signal)
    // It may name users of the host that the layer does not have.
    await rm(join(state, 'dpkg', 'statoverride'), { force: true })
    await installPackages(directory, build, plan, onOutput, signal)
    await finishEtc(etc)
    await trim(directory)
  } finally {
    await rm(build, { recursive: true, force: true })
  }
}

/** Removes what only apt needed. */
async function trim(directory: string): Promise<void> {
  // The place where the installation had one of its own.
  await rm(join(directory, layerNames.usr, 'sbin/policy-rc.d'), { force: true })
  const state = join(directory, layerNames.var)
  for (const path of ['lib/apt', 'lib/dpkg/lock', 'lib/dpkg/lock-frontend'])
    await rm(join(state, path), { recursive: true, force: true })
  for (const name of ['cache', 'log', 'tmp'])
    for (const entry of await readdir(join(state, name)))
      await rm(join(state, name, entry), { recursive: true, force: true })
}
