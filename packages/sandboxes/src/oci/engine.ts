import { findProgram, MissingProgramError } from '../linux/find-program.ts'
import { ProgramError, runProgram } from '../linux/run-program.ts'
import { waitUntil } from '../linux/wait-until.ts'
import type { OciOptions } from './options.ts'

/** Label of every container of an instance; its value is the instance's tag. */
export const instanceLabel = 'berth.instance'

const REMOVING_MS = 10_000

/** The command line of podman on this host. */
export interface Engine {
  readonly path: string
  /** Words that come before podman's own commands. */
  readonly options: readonly string[]
  /** @throws ProgramError with what podman said */
  run(args: readonly string[]): Promise<string>
  /** Ends and removes containers; those that are gone count as removed. */
  remove(names: readonly string[]): Promise<void>
  /** Returns the names of all containers of an instance, running or not. */
  names(tag: string): Promise<readonly string[]>
}

/** The image cannot serve sandboxes; the message says why, and what to do. */
export class ImageError extends Error {
  override readonly name = 'ImageError'
}

/**
 * Finds podman. Containers and their groups are made directly in the file system of cgroups, so that they lie outside the
 * service's own group whatever manager this host has.
 * @throws MissingProgramError
 */
export async function openEngine({
  engine = 'podman',
  runtime,
}: Pick<OciOptions, 'engine' | 'runtime'>): Promise<Engine> {
  const path = await findProgram(engine)
  if (path === undefined)
    throw new MissingProgramError(
      `podman (${engine}) is not installed on this host: install it with \`apt-get install podman runc\` or \`dnf install podman\``,
    )
  const options = ['--cgroup-manager=cgroupfs', '--events-backend=none']
  if (runtime !== undefined) {
    const found = await findProgram(runtime)
    if (found === undefined) throw new MissingProgramError(`the runtime ${runtime} is not installed on this host`)
    options.push('--runtime', found)
  }
  const run = (args: readonly string[]) => runProgram(path, [...options, ...args])
  return {
    path,
    options,
    run,
    async remove(names) {
      if (names.length === 0) return
      let refusal: unknown
      // A container that ends at the same moment, or whose monitor was killed, is refused once: "container state improper".
      const removed = await waitUntil(async () => {
        try {
          await run(['rm', '--force', '--time', '0', '--ignore', '--volumes', ...names])
          return true
        } catch (error) {
          if (!(error instanceof ProgramError)) throw error
          refusal = error
          return false
        }
      }, REMOVING_MS)
      if (!removed) throw refusal
    },
    async names(tag) {
      const output = await run(['ps', '--all', '--filter', `label=${instanceLabel}=${tag}`, '--format', '{{.Names}}'])
      return output.split('\n').filter(name => name !== '')
    },
  }
}

/**
 * Proves that an image is there and runs this host's Node.
 * @returns the authorities that the image trusts, in PEM; empty if it has no such file
 * @throws ImageError
 */
export async function proveImage(engine: Engine, image: string, nodePath: string): Promise<string> {
  try {
    await engine.run(['image', 'exists', image])
  } catch (error) {
    if (!(error instanceof ProgramError)) throw error
    throw new ImageError(`podman has no image ${image}: get it with \`podman pull ${image}\``, { cause: error })
  }
  const command = ['/bin/bash', '-c', `/node --version >&2 && { cat ${imageBundle} 2>/dev/null || true; }`]
  try {
    return await engine.run([
      ...['run', '--rm', '--pull=never', '--network=none', '--read-only', ...processLimits()],
      ...['--security-opt', 'label=disable', '--volume', `${nodePath}:/node:ro`, image, ...command],
    ])
  } catch (error) {
    if (!(error instanceof ProgramError)) throw error
    const needs = 'it needs bash, and the glibc and libstdc++ that Node uses'
    throw new ImageError(`the image ${image} cannot run sandboxes (${needs}): ${error.message}`, { cause: error })
  }
}

/** Where images have the authorities that they trust, all in one file. */
export const imageBundle = '/etc/ssl/certs/ca-certificates.crt'

/** The limits that podman would raise above those of this process, which not every root may. */
export function processLimits(): readonly string[] {
  return ['--ulimit', 'nofile=16384:16384', '--ulimit', 'nproc=16384:16384', '--ulimit', 'core=0:0']
}
