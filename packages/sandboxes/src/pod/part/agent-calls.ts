import { SandboxGoneError } from '../../driver.ts'
import { joinStreams } from '../../egress/join-streams.ts'
import type { CallHandlers } from '../../line/serve-line.ts'
import { createKeyedLock } from '../../linux/keyed-lock.ts'
import type { ReadyOrder, StartOrder } from '../part-names.ts'
import { ContainerProcesses, killAll } from './container-processes.ts'
import { FirstCommand } from './first-command.ts'
import { ReadyCommand } from './ready-command.ts'

/** Where the sandbox's container has its files. */
export interface AgentPlace {
  readonly workspace: string
  readonly tmp: string
}

/** Answers the host's calls in the container that is the sandbox. It starts one command in its life. */
export function agentCalls({ workspace, tmp }: AgentPlace): CallHandlers {
  const processes = new ContainerProcesses()
  const locked = createKeyedLock()
  let first: FirstCommand | undefined
  let ready: ReadyCommand | undefined
  let isRequested = false
  const isGone = () => first === undefined || first.isOver
  const alive = (): FirstCommand => {
    if (first === undefined || first.isOver) throw new SandboxGoneError('the supervisor is dead')
    return first
  }
  return {
    // The host asks again after each of its own starts.
    prepare: ({ params }) =>
      locked('first', async () => {
        if (isRequested || ready?.stands === true) return
        ready = await ReadyCommand.start(params as ReadyOrder, tmp, workspace)
      }),
    start: ({ params }) =>
      locked('first', async () => {
        if (isRequested) throw new Error('this container has had its sandbox')
        isRequested = true
        const order = params as StartOrder
        first = (await ready?.become(order)) ?? (await FirstCommand.start(order, tmp, workspace))
      }),
    async attach({ signal, answer }) {
      const socket = await alive().connect(signal)
      joinStreams(answer(null), socket)
    },
    freeze: async () => {
      if (!isGone()) await processes.freeze()
    },
    thaw: async () => !isGone() && (await processes.thaw()),
    stateOf: async () => (isGone() ? 'gone' : await processes.state()),
    endOrphans: () => processes.endOrphans(),
    keepOrphans: async () => {
      alive()
      await processes.keepOrphans()
    },
    end: () => killAll(),
  }
}
