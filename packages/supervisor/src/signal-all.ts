/** The supervisor is process 2 of its pid namespace; outside of one, no program has that number. */
const PID_IN_SANDBOX = 2

/**
 * Sends a signal to every other process of the sandbox. The kernel does this in one step, so a process that is just
 * being forked gets it too. Does nothing outside a sandbox, where the signal would reach the whole machine.
 */
export function signalAll(signal: 'SIGSTOP' | 'SIGCONT'): void {
  if (process.pid !== PID_IN_SANDBOX) return
  try {
    process.kill(-1, signal)
  } catch {
    // ESRCH: the supervisor is the only process.
  }
}
