import type { CallHandlers } from '../../../line/serve-line.ts'
import { SandboxGoneError } from '../../driver.ts'
import { joinStreams } from '../../remote/join-streams.ts'
import type { StartOrder } from '../part-names.ts'
import { ContainerProcesses, killAll } from './container-processes.ts'
import { FirstCommand } from './first-command.ts'

/** Where the sandbox's container has its files. */
export interface AgentPlace {
  readonly workspace: string
  readonly tmp: string
}

/** Answers the host's calls in the container that is the sandbox. It starts one command in its life. */
export function agentCalls({ workspace, tmp }: AgentPlace): CallHandlers {
  const processes = new ContainerProcesses()
  let first: FirstCommand | undefined
  let isAsked = false
  const isGone = () => first === undefined || first.isOver
  const alive = (): FirstCommand => {
    if (first === undefined || first.isOver) throw new SandboxGoneError('the supervisor is dead')
    return first
  }
  return {
    async start({ params }) {
      if (isAsked) throw new Error('this container has had its sandbox')
      isAsked = true
      first = await FirstCommand.start(params as StartOrder, tmp, workspace)
    },
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
