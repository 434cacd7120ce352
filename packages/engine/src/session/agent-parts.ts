import { join } from 'node:path'
import type { Api, AssistantMessage, Model } from '@earendil-works/pi-ai'
import {
  type AgentSession,
  createAgentSession,
  type SessionManager,
  SettingsManager,
  type ToolDefinition,
} from '@earendil-works/pi-coding-agent'
import type { Environment } from '../environment.ts'
import type { GatewayProvider } from '../gateway/gateway-provider.ts'
import { MODEL_RETRIES } from '../gateway/retries.ts'
import type { ServerTool } from '../mcp/server-tools.ts'
import type { Servers } from '../mcp/servers.ts'
import { viewOf } from '../protocol/tool-view.ts'
import { isTrainedOnPatches } from '../tools/patch/apply-patch.ts'
import { guarded, usable } from '../tools/tool-set.ts'
import { type Effort, levelOf } from './effort.ts'
import { hasInstructions, instructionsFor, instructionsMessage } from './instructions.ts'
import type { Limits } from './limits.ts'
import { noTools, type UnusableSkill, workspaceResources } from './workspace-resources.ts'

/** The parts of an agent: of a session's own, or of one of its sub-agents. */
export interface AgentParts {
  readonly environment: Environment
  readonly provider: GatewayProvider
  readonly model: Model<Api>
  readonly effort: Effort | undefined
  readonly manager: SessionManager
  readonly tools: readonly ToolDefinition[]
  /** Servers whose current tools are added before each model request. */
  readonly servers: Servers
  readonly planning: () => boolean
  readonly cwd: string
  /** The current prompt's limits; each prompt has new ones. */
  readonly limits: () => Limits
  /** Takes what the agent is told at its next step. */
  readonly notices?: () => readonly string[]
  /** Learns which files with instructions the model gets. */
  readonly instructed: (paths: readonly string[]) => void
}

/** An agent, and a function that gives it the current tools; it also runs after every turn. */
export interface MadeAgent {
  readonly agent: AgentSession
  /** Skills of the workspace that cannot be offered. */
  readonly unusableSkills: readonly UnusableSkill[]
  equip(): void
}

/**
 * Creates an SDK agent that takes nothing from its surroundings: no settings files, extensions, prompt directories or
 * catalogs, and no models but the gateway's.
 */
export async function makeAgent(parts: AgentParts): Promise<MadeAgent> {
  const {
    environment,
    provider,
    model,
    effort,
    manager,
    tools,
    servers,
    planning,
    cwd,
    limits,
    notices = () => [],
    instructed,
  } = parts
  const agentDir = join(environment.sessionsDir, '..', 'agent')
  const extension = noTools()
  const resources = workspaceResources(cwd, agentDir, extension, () => servers.notes)
  const { session } = await createAgentSession({
    cwd,
    agentDir,
    modelRuntime: provider.runtime,
    model,
    thinkingLevel: levelOf(effort),
    noTools: 'builtin',
    customTools: guarded(tools),
    resourceLoader: resources.loader,
    sessionManager: manager,
    settingsManager: settingsFor(model, environment),
  })
  let equipped: readonly ServerTool[] | null = null
  let planned = false
  let patched = false
  const equip = () => {
    const offered = servers.tools
    const patches = isTrainedOnPatches(provider.nameOf(session.model?.id ?? model.id))
    if (offered === equipped && planning() === planned && patches === patched) return
    equipped = offered
    planned = planning()
    patched = patches
    extension.tools.clear()
    for (const definition of guarded(offered.map(tool => tool.definition))) {
      extension.tools.set(definition.name, { definition, sourceInfo: extension.sourceInfo })
    }
    resources.loader.getExtensions().runtime.refreshTools()
    session.setActiveToolsByName(usable(tools, offered, { planning: planned, patches }))
  }
  equip()
  const known = resources.instructions.map(({ path }) => path)
  instructed(known)
  const isKnown = (path: string) => known.includes(path) || hasInstructions(session.messages, path)
  const settled = session.agent.finishTurn
  session.agent.finishTurn = async (turn, signal) => {
    const decision = await settled?.(turn, signal)
    const { message, toolResults } = turn
    if (message.stopReason === 'error' || message.stopReason === 'aborted') return decision ?? undefined
    limits().count(message)
    if (limits().settle(message, toolResults)) {
      // The SDK would go on with a message that waits for the next step.
      session.agent.clearSteeringQueue()
      return { action: 'end' }
    }
    await servers.listed()
    equip()
    // Without a result there is no further step: the next prompt has them.
    const reported = toolResults.length > 0 ? notices() : []
    if (reported.length > 0) await session.sendCustomMessage(noticeMessage(reported), { deliverAs: 'steer' })
    const nested = toolResults.length > 0 ? instructionsFor(touchedBy(message, cwd), cwd, isKnown) : []
    if (nested.length > 0) {
      instructed(nested.map(({ path }) => path))
      await session.sendCustomMessage(instructionsMessage(nested), { deliverAs: 'steer' })
    }
    return decision ?? undefined
  }
  return { agent: session, unusableSkills: resources.unusable, equip }
}

/** Returns the files and directories that a message's calls are about. */
const touchedBy = ({ content }: AssistantMessage, cwd: string): readonly string[] =>
  content
    .flatMap(part => (part.type === 'toolCall' ? viewOf(part.name, part.arguments, cwd).locations : []))
    .map(({ path }) => path)

const NOTICE = 'notice'

/** Returns a message to the model that is not of people. */
export const noticeMessage = (notices: readonly string[]) =>
  ({ customType: NOTICE, content: notices.join('\n'), display: false, details: undefined }) as const

/** Returns true for such a message. */
export const isNotice = (message: AgentSession['messages'][number]): boolean =>
  message.role === 'custom' && message.customType === NOTICE

/** Returns settings that compact the context before old messages, new input and the answer can exceed the limit. */
function settingsFor(model: Model<Api>, environment: Environment): SettingsManager {
  return SettingsManager.inMemory(
    {
      compaction: {
        enabled: true,
        reserveTokens: Math.min(16_384, Math.floor(model.contextWindow / 4)),
        keepRecentTokens: Math.min(20_000, Math.floor(model.contextWindow / 4)),
      },
      retry: { enabled: true, maxRetries: MODEL_RETRIES, baseDelayMs: environment.retryBaseMs },
      images: { autoResize: false },
      cacheWarming: 'off',
      enableInstallTelemetry: false,
      enableAnalytics: false,
    },
    { projectTrusted: false },
  )
}
