import type { Config } from './config-file.ts'
import { type Egress, readEgress } from './egress.ts'
import type { Environment } from './environment.ts'

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
  /** Largest mirror of one repository. */
  readonly mirrorBytes: number
  /** For all unpacked extensions of a host together. */
  readonly extensionsBytes: number
  /** Of disk that images of environments may take on this host while no sandbox shows them. */
  readonly imageBytes: number
  /** For all helper programs of this process together. */
  readonly helpers: { readonly memoryBytes: number; readonly cpus: number }
}

export function readCompute(env: Environment): 'bubblewrap' {
  return env.oneOf('BERTH_COMPUTE', 'bubblewrap', 'Driver that makes sandboxes.', ['bubblewrap'])
}

export function readSandboxes(env: Environment, config: Config): SandboxSettings {
  return {
    egress: readEgress(env, config),
    bounds: readBounds(env),
    mirrorBytes: env.integer(
      'BERTH_MIRROR_BYTES',
      10 * gibibyte,
      'Largest mirror of a repository; a larger repository is refused.',
      { least: 1024 ** 2 },
    ),
    extensionsBytes: env.integer(
      'BERTH_EXTENSIONS_BYTES',
      10 * gibibyte,
      'Size of all unpacked extensions of this host together; the host removes those that no sandbox uses.',
      { least: 256 * 1024 ** 2 },
    ),
    imageBytes: env.integer(
      'BERTH_IMAGE_BYTES',
      20 * gibibyte,
      'Disk that prebuilt environments may take on a host while no sandbox shows them.',
      { least: 0 },
    ),
    helpers: readHelpers(env),
  }
}

function readBounds(env: Environment): SandboxSettings['bounds'] {
  return {
    memoryBytes: env.integer('BERTH_SANDBOX_MEMORY_BYTES', 4 * gibibyte, 'Memory of one sandbox.', {
      least: 128 * 1024 ** 2,
    }),
    processes: env.integer('BERTH_SANDBOX_PROCESSES', 512, 'Processes and threads of one sandbox.', { least: 32 }),
    cpus: env.number('BERTH_SANDBOX_CPUS', 2, 'Processors of one sandbox; may be a fraction.', {
      least: 0.1,
      most: 1024,
    }),
    fileSizeBytes: env.integer('BERTH_SANDBOX_FILE_BYTES', 4 * gibibyte, 'Largest file in a sandbox.'),
    diskBytes: env.integer('BERTH_SANDBOX_DISK_BYTES', 10 * gibibyte, 'Size of all files of one sandbox together.'),
  }
}

function readHelpers(env: Environment): SandboxSettings['helpers'] {
  return {
    memoryBytes: env.integer(
      'BERTH_HELPER_MEMORY_BYTES',
      4 * gibibyte,
      'Memory of all helper programs of this process together: git, seals, restores, decoders.',
      { least: gibibyte },
    ),
    cpus: env.number(
      'BERTH_HELPER_CPUS',
      2,
      'Processors of all helper programs of this process together; may be a fraction.',
      {
        least: 0.1,
        most: 1024,
      },
    ),
  }
}
