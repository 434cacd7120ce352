import { randomInt } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { EmbeddedPostgres } from '@berth/platform/storage/embedded/embedded-postgres.ts'
import type { HostProgram } from '../hosts/host-program.ts'
import type { S3Server } from '../storage/s3-server.ts'
import type { SeverableDatabase } from '../storage/severable-database.ts'
import { signalSandbox } from '../workspaces/sandbox-processes.ts'
import type { CuttableLine } from './cuttable-line.ts'
import type { JumpingClock } from './jumping-clock.ts'
import type { Restartable } from './restartable.ts'
import type { SmallDisk } from './small-disk.ts'

/** A machine that dials in. */
export interface Machine {
  readonly program: HostProgram
  readonly line: CuttableLine
  readonly clock: JumpingClock
}

/** Everything that a fault may strike. */
export interface FleetParts {
  readonly postgres: EmbeddedPostgres
  readonly bucket: S3Server
  readonly fronts: readonly Restartable[]
  /** Workers with a host each. */
  readonly hosts: readonly Restartable[]
  /** Workers that machines dial. */
  readonly takers: readonly Restartable[]
  readonly machines: readonly Machine[]
  /** What leads each process of the service to the database. */
  readonly ways: readonly SeverableDatabase[]
  readonly disks: readonly SmallDisk[]
}

export const FENCE_SECONDS = 1
const HOUR_MS = 60 * 60_000

type Strike = (parts: FleetParts) => Promise<boolean>

/** What is done at random. Each returns true if there was something to strike. */
const strikes = {
  api: parts => restart(parts.fronts),
  worker: parts => restart([...parts.hosts, ...parts.takers]),
  async machine({ machines }) {
    if (machines.length === 0) return false
    const { program } = oneOf(machines)
    await program.stop('SIGKILL')
    program.start()
    return true
  },
  async line({ machines }) {
    if (machines.length === 0) return false
    await oneOf(machines).line.cut(randomInt(3_000))
    return true
  },
  database: async ({ postgres }) => signal(() => process.kill(postgres.pid, 'SIGKILL')),
  async connections({ ways }) {
    const way = oneOf(ways)
    await way.cut()
    // A third lasts no time: statements of before may be committed after those that follow.
    await sleep(Math.max(0, randomInt(-1_000, 2_000)))
    await way.mend()
    return true
  },
  async sandbox(parts) {
    const dataDir = oneOf(placesOf(parts))
    return signal(async () => {
      const leases = await readdir(join(dataDir, 'leases'))
      await signalSandbox(dataDir, leases[randomInt(Math.max(1, leases.length))] ?? '', 'SIGKILL')
    })
  },
  async frozen(parts) {
    // Both shorter and longer than others wait before they take over.
    const ms = randomInt(4 * FENCE_SECONDS * 1000)
    const frozen = oneOf([...processesOf(parts), ...parts.machines])
    if ('freeze' in frozen) await frozen.freeze(ms)
    else {
      frozen.program.signal('SIGSTOP')
      await sleep(ms)
      frozen.program.signal('SIGCONT')
    }
    return true
  },
  async store({ bucket }) {
    await bucket.stop()
    await sleep(randomInt(2_000))
    await bucket.resume()
    return true
  },
  async full({ bucket }) {
    bucket.fault = ({ method }) =>
      method === 'PUT' || method === 'POST' ? { kind: 'answer', status: 507, code: 'InsufficientStorage' } : undefined
    await sleep(randomInt(2_000))
    bucket.fault = () => undefined
    return true
  },
  async disk({ disks }) {
    await oneOf(disks).fill(randomInt(3_000))
    return true
  },
  async clock(parts) {
    const offsetMs = randomInt(-HOUR_MS, HOUR_MS)
    const wrong = oneOf([...processesOf(parts), ...parts.machines])
    if ('jump' in wrong) wrong.jump(offsetMs)
    else wrong.clock.jump(offsetMs, wrong.program.pid)
    return true
  },
} satisfies Record<string, Strike>

export type Fault = keyof typeof strikes
export const faults = Object.keys(strikes) as Fault[]

/** Strikes a fleet once. @returns true if there was something to strike */
export const strike = (parts: FleetParts, kind: Fault): Promise<boolean> => strikes[kind](parts)

/** The processes of the service itself. */
export const processesOf = ({ fronts, hosts, takers }: FleetParts): readonly Restartable[] => [
  ...fronts,
  ...hosts,
  ...takers,
]

/** The data directories that hold sandboxes. */
export const placesOf = ({ hosts, machines }: FleetParts): readonly string[] => [
  ...hosts.map(({ dataDir }) => dataDir),
  ...machines.map(({ program }) => program.dataDir),
]

export function oneOf<Each>(all: readonly Each[]): Each {
  const one = all[randomInt(all.length)]
  if (one === undefined) throw new Error('there is nothing to choose from')
  return one
}

async function restart(all: readonly Restartable[]): Promise<true> {
  await oneOf(all).restart()
  return true
}

/** Returns false if whatever was to be killed had gone. */
async function signal(kill: () => unknown): Promise<boolean> {
  try {
    await kill()
    return true
  } catch {
    return false
  }
}
