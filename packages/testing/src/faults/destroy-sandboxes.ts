import { realpath } from 'node:fs/promises'
import { ignoring } from '@berth/platform/kit/system-errors.ts'
import { isNothing, takeDown } from '@berth/sandboxes/down/take-down.ts'
import { instanceOf } from '@berth/sandboxes/linux/instance.ts'

/**
 * Destroys the sandboxes of a test: by design they outlive the service, but they must not outlive the test.
 * @throws Error if a process, mount, loop device, cgroup or uid of them is left on this machine
 */
export async function destroySandboxes(dataDir: string): Promise<void> {
  // A host that never started has none.
  const directory = await ignoring(['ENOENT'], realpath(dataDir))
  if (directory === undefined) return
  const left = await takeDown(instanceOf(directory))
  if (!isNothing(left)) throw new Error(`the test leaks on this machine: ${JSON.stringify(left)}`)
}
