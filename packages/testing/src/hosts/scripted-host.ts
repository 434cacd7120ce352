import { randomUUID } from 'node:crypto'
import { SandboxGoneError } from '@berth/sandboxes/driver.ts'
import type { CallHandlers } from '@berth/sandboxes/line/serve-line.ts'
import { type DialledHost, dialHost, type MadeToken } from './dialled-host.ts'
import { type Prompt, ScriptedSandbox } from './scripted-sandbox.ts'

/**
 * A host whose sandboxes are scripted, for tests of many hosts or of hosts that lie. It seals nothing: its sandboxes are gone
 * for everybody who wants to read their files.
 */
export class ScriptedHost {
  readonly id: string
  readonly sandboxes = new Map<string, ScriptedSandbox>()
  /** Calls with the lease that they were about, in their order. */
  readonly calls: (readonly [name: string, leaseId: string])[] = []
  readonly #token: string
  readonly #lies: CallHandlers
  readonly #boot = randomUUID()
  readonly #prompted: (prompt: Prompt, leaseId: string) => void
  dialled: DialledHost | null = null
  /** Names of calls that it accepts and never answers. */
  readonly hangs = new Set<string>()

  /**
   * @param prompted called for each prompt of its agents
   * @param lies answers in place of the honest ones
   */
  constructor({ id, token }: MadeToken, prompted: (prompt: Prompt, leaseId: string) => void, lies: CallHandlers = {}) {
    this.id = id
    this.#token = token
    this.#prompted = prompted
    this.#lies = lies
  }

  /** Dials a service; the sandboxes stay the same. */
  async dial(port: number, headers: Readonly<Record<string, string>> = {}): Promise<void> {
    const handlers = Object.entries({ ...this.#honest(), ...this.#lies }).map(([name, handle]) => [
      name,
      (call: Parameters<typeof handle>[0]) => (this.hangs.has(name) ? this.#hang(name, call.params) : handle(call)),
    ])
    this.dialled = await dialHost(port, this.#token, {
      handlers: Object.fromEntries(handlers) as CallHandlers,
      headers,
    })
  }

  /** Dials whichever port there is, again and again, as a host does whose service dies. @returns ends that */
  keepDialling(port: () => number): AsyncDisposable {
    const over = new AbortController()
    const dialling = (async () => {
      while (!over.signal.aborted) {
        await this.dial(port()).catch(() => null)
        await Promise.race([
          this.dialled?.line.closed,
          new Promise(resolve => over.signal.addEventListener('abort', resolve, { once: true })),
        ])
        // bound: a pause between two tries
        await new Promise(resolve => setTimeout(resolve, 50))
      }
      this.dialled?.line.destroy()
    })()
    return {
      async [Symbol.asyncDispose]() {
        over.abort()
        await dialling
      },
    }
  }

  #hang(name: string, params: unknown): Promise<never> {
    this.calls.push([name, String(Object(params).leaseId)])
    return new Promise(() => undefined)
  }

  #honest(): CallHandlers {
    const frozen = new Set<string>()
    const onLease =
      (name: string, work: (leaseId: string) => unknown): CallHandlers[string] =>
      async ({ params }) => {
        const { leaseId } = params as { leaseId: string }
        this.calls.push([name, leaseId])
        return work(leaseId) ?? null
      }
    return {
      facts: async () => ({ boot: this.#boot, describes: [], runtimes: [] }),
      list: async () => [...this.sandboxes.keys()],
      create: onLease('create', id => {
        this.sandboxes.set(id, new ScriptedSandbox(prompt => this.#prompted(prompt, id)))
      }),
      destroy: onLease('destroy', id => void this.sandboxes.delete(id)),
      freeze: onLease('freeze', id => void frozen.add(id)),
      thaw: onLease('thaw', id => frozen.delete(id)),
      stateOf: onLease('stateOf', id => (!this.sandboxes.has(id) ? 'gone' : frozen.has(id) ? 'frozen' : 'running')),
      park: onLease('park', () => false),
      serveProxy: onLease('serveProxy', () => null),
      endOrphans: onLease('endOrphans', () => null),
      keepOrphans: onLease('keepOrphans', () => null),
      run: onLease('run', id => {
        throw new SandboxGoneError(id)
      }),
      hasDirectory: onLease('hasDirectory', () => false),
      settleBaseline: onLease('settleBaseline', () => null),
      writeInputs: onLease('writeInputs', () => null),
      attach: async ({ params, answer }) => {
        const { leaseId } = params as { leaseId: string }
        this.calls.push(['attach', leaseId])
        const sandbox = this.sandboxes.get(leaseId)
        if (sandbox === undefined) throw new SandboxGoneError(leaseId)
        sandbox.attach(answer(null))
      },
    }
  }
}
