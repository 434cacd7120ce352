import { availableParallelism, totalmem } from 'node:os'
import { StartError } from '../kit/start-error.ts'
import type { Config } from './config-file.ts'
import { type Egress, readEgress } from './egress.ts'
import type { Environment } from './environment.ts'
import type { Fixed } from './fixed.ts'

const gibibyte = 1024 ** 3

/** Limits of one sandbox, and of the work that a host does beside its sandboxes. */
export interface SandboxSettings {
  /** Public hosts that sandboxes reach; undefined if they reach none. */
  readonly egress: Egress | undefined
  /** For one sandbox. */
  readonly bounds: {
    readonly memoryBytes: number
    readonly processes: number
    readonly cpus: number
    readonly fileSizeBytes: number
    readonly diskBytes: number
  }
  /** Sandboxes of the built-in agent that stand ready: without demand, and at most. */
  readonly pool: { readonly least: number; readonly most: number }
  /** Largest mirror of one repository. */
  readonly mirrorBytes: number
  /** For all unpacked extensions of a host together. */
  readonly extensionsBytes: number
  /** Of disk that images of environments and checkouts may take on this host while no sandbox shows them. */
  readonly imageBytes: number
  /** For all layers of system packages of a host together. */
  readonly packagesBytes: number
  /** A file of apt's sources for system packages; null: those of the host. */
  readonly packageSources: string | null
  /** For all helper programs of this process together. */
  readonly helpers: { readonly memoryBytes: number; readonly cpus: number }
}

/** The driver that makes sandboxes, with its settings. */
export type ComputeSettings =
  | { readonly kind: 'bubblewrap' }
  | { readonly kind: 'remote' }
  | { readonly kind: 'pod' }
  | ({ readonly kind: 'oci' } & ContainerSettings)

/** How sandboxes are made as containers. */
interface ContainerSettings {
  readonly image: string
  /** Name or path of the runtime; undefined for podman's own choice. */
  readonly runtime: string | undefined
}

export function readCompute(env: Environment): ComputeSettings {
  const kinds = ['bubblewrap', 'oci', 'remote', 'pod'] as const
  const meaning =
    "What makes sandboxes: `bubblewrap` of this host's own system, `oci` as containers of an image; with `remote`, only hosts that dial in. `pod` is for `berth host` in a pod that a worker has made. Change it if sandboxes are to have another system than the host, or if this machine is to hold none."
  const kind = env.oneOf('BERTH_COMPUTE', 'bubblewrap', meaning, kinds)
  const image = env.text(
    'BERTH_OCI_IMAGE',
    'Image of sandboxes that are containers; podman must have it already. Set it with `oci`.',
    'none; needed with `oci`',
    'the name of an image',
  )
  const runtime = env.text(
    'BERTH_OCI_RUNTIME',
    'Name or path of the runtime that podman uses, such as `crun`. gVisor and Kata do not work. Set it if podman is not to choose.',
    "podman's choice",
    'a name or a path',
  )
  if (kind !== 'oci') return { kind }
  if (image === undefined) throw new StartError('BERTH_OCI_IMAGE must name an image when BERTH_COMPUTE is oci')
  return { kind, image, runtime }
}

export function readSandboxes(env: Environment, config: Config, fixed: Fixed): SandboxSettings {
  return {
    egress: readEgress(env, config),
    bounds: readBounds(env, fixed),
    pool: readPool(env),
    mirrorBytes: env.integer(
      'BERTH_MIRROR_BYTES',
      10 * gibibyte,
      'Largest mirror of a repository; a larger repository is refused. Raise it for larger repositories.',
      { least: 1024 ** 2 },
    ),
    ...readCaches(env),
    packageSources:
      env.text(
        'BERTH_PACKAGE_SOURCES',
        "File of apt's sources for system packages; deb822 if its name ends in `.sources`. Set it to a mirror of your own.",
        "the host's own",
        'a path',
      ) ?? null,
    helpers: helpersOfMachine(),
  }
}

/** Shares one bound of a host among its caches. */
function readCaches(env: Environment): Pick<SandboxSettings, 'extensionsBytes' | 'imageBytes' | 'packagesBytes'> {
  const bytes = env.integer(
    'BERTH_CACHE_BYTES',
    50 * gibibyte,
    'Disk that the caches of a host may take: two fifths for prebuilt environments and checkouts of repositories, as much for system packages, the rest for unpacked extensions. Entries that no sandbox shows make room for others; an environment for which there is none is set up anew, and a repository checked out into each sandbox. Raise it if that happens again and again, lower it on a small disk.',
    { least: 2.5 * gibibyte },
  )
  const fifth = Math.floor(bytes / 5)
  return { extensionsBytes: fifth, imageBytes: 2 * fifth, packagesBytes: 2 * fifth }
}

function readPool(env: Environment): SandboxSettings['pool'] {
  const pool = {
    least: env.integer(
      'BERTH_POOL_LEAST',
      1,
      'Sandboxes that stand ready for Sessions without any demand, with supervisor and agent; some 110 MB each. Raise it if Sessions that begin after a pause should not wait.',
      { least: 0, most: 256 },
    ),
    most: env.integer(
      'BERTH_POOL_MOST',
      4,
      'Sandboxes that stand ready at most: as many as were taken in the last two minutes. 0: none, ever. Raise it if many Sessions begin at once, lower it to save memory.',
      { least: 0, most: 256 },
    ),
  }
  return { ...pool, least: Math.min(pool.least, pool.most) }
}

function readBounds(env: Environment, fixed: Fixed): SandboxSettings['bounds'] {
  return {
    memoryBytes: env.integer(
      'BERTH_SANDBOX_MEMORY_BYTES',
      4 * gibibyte,
      'Memory of one sandbox. Raise it for large builds, lower it for more Runs at once.',
      {
        least: 128 * 1024 ** 2,
      },
    ),
    processes: env.integer(
      'BERTH_SANDBOX_PROCESSES',
      512,
      'Processes and threads of one sandbox. Raise it for builds that start very many processes.',
      { least: 32 },
    ),
    cpus: env.number(
      'BERTH_SANDBOX_CPUS',
      2,
      'Processors of one sandbox; may be a fraction. Raise it for large builds, lower it for more Runs at once.',
      {
        least: 0.1,
        most: 1024,
      },
    ),
    fileSizeBytes: fixed.sandboxFileBytes,
    diskBytes: env.integer(
      'BERTH_SANDBOX_DISK_BYTES',
      10 * gibibyte,
      'Size of all files of one sandbox together. Raise it for large repositories and their dependencies.',
    ),
  }
}

/** Shares the machine, or the container that this process is in, with the sandboxes. */
function helpersOfMachine(): SandboxSettings['helpers'] {
  const constrained = process.constrainedMemory()
  const memoryBytes = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
  return {
    memoryBytes: Math.max(gibibyte, Math.floor(memoryBytes / 4), Math.min(4 * gibibyte, Math.floor(memoryBytes / 2))),
    cpus: Math.max(2, availableParallelism() / 2),
  }
}
