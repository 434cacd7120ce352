import { randomUUID } from 'node:crypto'
import { type Api, type Model, Type } from '@earendil-works/pi-ai'
import { defineTool, SessionManager, type ToolDefinition } from '@earendil-works/pi-coding-agent'
import type { Environment } from '../environment.ts'
import type { GatewayProvider } from '../gateway/gateway-provider.ts'
import type { Servers } from '../mcp/servers.ts'
import type { Updates } from '../protocol/updates.ts'
import { textResult } from '../tools/text-result.ts'
import { makeAgent } from './agent-parts.ts'
import type { Effort } from './effort.ts'
import { faultOfMessage } from './fault-of-message.ts'
import { Limits } from './limits.ts'
import { Places } from './places.ts'
import type { SubAgent } from './sub-agents.ts'
import { delegateReminder } from './system-prompt.ts'

/** Model requests that a sub-agent may make. */
const MAX_TURNS = 40
/** Length of the task and the summary in the log; the tool's input and its result have the whole texts. */
const MAX_EVENT_TEXT = 4000

/** Sub-agents that work at once; further ones wait. */
const AT_ONCE = 4

const parameters = (definitions: readonly SubAgent[]) =>
  Type.Object({
    task: Type.String({ description: 'The whole task, with all that the sub-agent needs to know and what to report' }),
    ...(definitions.length > 0 && {
      agent: Type.Optional(
        Type.String({
          description: `Name of a sub-agent for such tasks, if one fits: ${definitions.map(({ name, description }) => `${name} (${description})`).join('; ')}`,
        }),
      ),
    }),
  })

/** The session's parts for a sub-agent, as they are when the tool is called. */
export interface Delegating {
  readonly environment: Environment
  readonly provider: GatewayProvider
  readonly cwd: string
  /** Sub-agents that the workspace defines. */
  readonly definitions: readonly SubAgent[]
  /** Returns the model of this id, or the session's own if there is no id, or no such model. */
  readonly model: (id: string | undefined, signal: AbortSignal | undefined) => Promise<Model<Api>>
  readonly effort: () => Effort | undefined
  /** The tools, without those that ask people or delegate further. */
  readonly tools: readonly ToolDefinition[]
  readonly servers: Servers
  readonly planning: () => boolean
  readonly limits: () => Limits
  readonly updates: (delegationId: string) => Updates
}

/**
 * Returns a tool that runs a sub-agent in the same workspace, with its own context and a bounded number of turns. Calls of
 * one step run side by side, a few at once.
 */
export function delegate(parts: Delegating) {
  const { definitions } = parts
  const places = new Places(AT_ONCE)
  return defineTool({
    name: 'delegate',
    label: 'delegate',
    description:
      'Give a self-contained task to a sub-agent in the same workspace, such as looking through much code for something. It knows nothing of this conversation; you get its last message.',
    parameters: parameters(definitions),
    async execute(_toolCallId, { task, agent }, signal) {
      const definition = definitions.find(({ name }) => name === agent)
      if (agent !== undefined && definition === undefined) {
        const names = definitions.map(({ name }) => name).join(', ') || 'none'
        throw new Error(
          `There is no sub-agent ${agent}. Those that there are: ${names}. Leave it out for a general one.`,
        )
      }
      using _place = await places.take()
      signal?.throwIfAborted()
      const { environment, provider, tools, servers, planning, cwd } = parts
      const delegationId = randomUUID()
      const updates = parts.updates(delegationId)
      const named = definition === undefined ? {} : { agent: definition.name }
      updates.event({
        type: 'delegation_started',
        data: { delegationId, task: task.slice(0, MAX_EVENT_TEXT), ...named },
      })
      const limits = new Limits({}, MAX_TURNS, parts.limits())
      const { agent: session } = await makeAgent({
        environment,
        provider,
        model: await parts.model(definition?.model, signal),
        effort: definition?.effort ?? parts.effort(),
        manager: SessionManager.inMemory(cwd),
        tools,
        servers,
        planning,
        cwd,
        limits: () => limits,
        instructed: paths => updates.given('instructions', paths),
      })
      const abort = () => void session.abort()
      signal?.addEventListener('abort', abort, { once: true })
      const end = (status: 'completed' | 'failed' | 'cancelled', summary = '') => {
        const optional = summary === '' ? {} : { summary: summary.slice(0, MAX_EVENT_TEXT) }
        updates.event({ type: 'delegation_completed', data: { delegationId, status, ...optional } })
      }
      try {
        session.subscribe(event => updates.follow(event))
        const texts = [delegateReminder, definition?.instructions ?? '', task].filter(text => text !== '')
        await session.prompt(texts.join('\n\n'), { expandPromptTemplates: false })
        signal?.throwIfAborted()
        const fault = faultOfMessage(session.messages.findLast(message => message.role === 'assistant'))
        if (fault !== null) throw new Error(`The sub-agent failed: ${fault}.`)
        const text = session.getLastAssistantText() ?? ''
        const stopped = limits.reason === null ? '' : `\n[it was stopped: ${limits.reason}]`
        end(limits.reason === null ? 'completed' : 'failed', text)
        return textResult(`${text || 'The sub-agent said nothing.'}${stopped}`)
      } catch (error) {
        end(signal?.aborted === true ? 'cancelled' : 'failed')
        throw error
      } finally {
        signal?.removeEventListener('abort', abort)
        session.dispose()
      }
    },
  })
}
