import { mkdir, readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { SandboxBounds } from '../driver.ts'
import { readContainerRecord } from '../leases/container-record.ts'
import { leaseFiles } from '../leases/lease-files.ts'
import { isLeaseId } from '../linux/instance.ts'
import { processStartTime } from '../linux/process-start-time.ts'
import { type ContainerBlank, makeContainerBlank, removeContainerBlank } from './container-blank.ts'
import { blankOf } from './container-names.ts'
import type { OciContext } from './oci-context.ts'

/** Containers started ahead of demand. */
export interface ContainerBlanks extends AsyncDisposable {
  /** Returns a blank with these bounds and mounts, ready or made now. The caller owns it. */
  take(bounds: SandboxBounds, mounts: readonly string[]): Promise<ContainerBlank>
  discard(blank: ContainerBlank): Promise<void>
  /** Starts to replace taken blanks; separate from `take`, because it would slow down the create in progress. */
  refill(): void
  /** Resolves when the wanted blanks exist or could not be made. */
  filled(): Promise<void>
}

/** Removes what dead processes have left, proves that a container can be started here, and keeps `wanted` ready. */
export async function openContainerBlanks(
  context: Omit<OciContext, 'blanks'>,
  wanted: number,
): Promise<ContainerBlanks> {
  const { instance, options } = context
  const ready: ContainerBlank[] = []
  let made = 0
  let closed = false
  await mkdir(instance.blanksDir, { recursive: true, mode: 0o700 })
  await removeLeftOver(context)

  const make = async (bounds: SandboxBounds, mounts: readonly string[]) => {
    // Two drivers in one process may share the directory.
    const unique = Math.random().toString(36).slice(2, 8)
    const name = `${process.pid}-${await processStartTime(process.pid)}-${made++}-${unique}`
    return makeContainerBlank(context, join(instance.blanksDir, name), bounds, mounts)
  }
  const discard = async (blank: ContainerBlank) => {
    blank.socket.destroy()
    await removeContainerBlank(context, blank.files.dir)
  }
  const fill = async () => {
    while (!closed && ready.length < wanted) ready.push(await make(options.bounds, []))
  }
  let filling: Promise<void> = Promise.resolve()
  const refill = (): void => {
    filling = filling.then(fill).catch((error: unknown) => {
      options.log.warn({ err: error }, 'could not start a container ahead of demand')
    })
  }
  const first = await make(options.bounds, [])
  if (wanted > 0) ready.push(first)
  else await discard(first)
  refill()

  return {
    async take(bounds, mounts) {
      const fits = mounts.length === 0 && sameBounds(bounds, options.bounds)
      for (let blank = fits ? ready.pop() : undefined; blank !== undefined; blank = ready.pop()) {
        if (!blank.socket.destroyed && !blank.socket.readableEnded) return blank
        await discard(blank)
      }
      return make(bounds, mounts)
    },
    discard,
    refill,
    filled: () => filling,
    async [Symbol.asyncDispose]() {
      closed = true
      await filling
      for (const blank of ready.splice(0)) await discard(blank)
    },
  }
}

const sameBounds = (one: SandboxBounds, other: SandboxBounds): boolean =>
  (Object.keys(one) as (keyof SandboxBounds)[]).every(key => one[key] === other[key])

/** Removes blanks of dead processes, and containers that no blank and no lease knows. */
async function removeLeftOver(context: Omit<OciContext, 'blanks'>): Promise<void> {
  const { engine, instance, uids } = context
  // In this order: a blank that becomes a lease meanwhile is found as one or the other.
  const containers = await engine.names(instance.tag)
  const blanks = await readdir(instance.blanksDir)
  const leases = (await readdir(instance.leasesDir)).filter(isLeaseId)
  const leased = new Set(leases.map(lease => readContainerRecord(leaseFiles(instance, lease))?.name))
  const alive = new Set<string>()
  for (const name of blanks) {
    const [pid, start] = name.split('-')
    if ((await processStartTime(Number(pid))) === start) alive.add(name)
    else await removeContainerBlank(context, join(instance.blanksDir, name))
  }
  const strays = containers.filter(name => !leased.has(name) && !alive.has(blankOf(instance, name) ?? ''))
  await engine.remove(strays)
  // A process that died between the rename of a blank and that of its claim has left one without a directory.
  for (const owner of await uids.owners()) {
    const isBlank = owner.startsWith(`${instance.blanksDir}/`)
    if (isBlank && !alive.has(basename(owner))) await uids.release(owner)
  }
}
