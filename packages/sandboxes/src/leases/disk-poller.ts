import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Instance, isLeaseId } from '../linux/instance.ts'
import { runProgram } from '../linux/run-program.ts'
import type { DriverLog } from './driver-log.ts'
import { hostNames, type LeaseFiles, leaseFiles } from './lease-files.ts'
import { isMounted } from './loop-disk.ts'
import { readRecord } from './record.ts'

/** Enforces the disk bound of sandboxes whose files lie on the host's own file system. */
export interface DiskPoller extends AsyncDisposable {
  /** Checks every lease once, now. */
  poll(): Promise<void>
}

/**
 * Measures every lease of the instance periodically, whichever process made it, and ends those over their bound. It
 * measures one lease at a time, so that many sandboxes with many files add delay but no load.
 */
export function pollDisks(
  instance: Instance,
  options: { readonly everyMs: number; readonly log: DriverLog; end(files: LeaseFiles): Promise<void> },
): DiskPoller {
  const { everyMs, log, end } = options
  const stop = new AbortController()
  const poll = async () => {
    for (const leaseId of await readdir(instance.leasesDir)) {
      if (stop.signal.aborted || !isLeaseId(leaseId)) continue
      const files = leaseFiles(instance, leaseId)
      const record = await readRecord(files)
      if (record === undefined || (await isMounted(files.disk))) continue
      // Without root, an agent can write to the log through its sandbox's first process.
      const used = await usedBytes([files.files, join(files.host, hostNames.log)], stop.signal)
      if (used <= record.bounds.diskBytes) continue
      log.warn(
        { leaseId, usedBytes: used, diskBytes: record.bounds.diskBytes },
        'ended a sandbox that exceeded its disk bound',
      )
      await end(files)
    }
  }
  const running = (async () => {
    while (!stop.signal.aborted) {
      try {
        await poll()
      } catch (error) {
        if (!stop.signal.aborted) log.warn({ err: error }, 'could not measure the disk usage of sandboxes')
      }
      await sleep(everyMs, undefined, { signal: stop.signal, ref: false }).catch(() => undefined)
    }
  })()
  return {
    poll,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await running
    },
  }
}

/**
 * Returns the bytes in use at and below the paths. If files vanish meanwhile, `du` fails, but only after it printed its
 * sum.
 */
async function usedBytes(paths: readonly string[], signal: AbortSignal): Promise<number> {
  const script = 'du -s -x -c -B1 -- "$@" 2>/dev/null | tail -n 1'
  const sum = Number.parseInt(await runProgram('sh', ['-c', script, 'sh', ...paths], signal), 10)
  return Number.isNaN(sum) ? 0 : sum
}
