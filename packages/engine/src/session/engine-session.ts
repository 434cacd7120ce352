import type {
  AgentContext,
  ClientCapabilities,
  ContentBlock,
  McpServer,
  PromptRequest,
  PromptResponse,
} from '@agentclientprotocol/sdk'
import type { Api, Model } from '@earendil-works/pi-ai'
import type { AgentSession, SessionManager } from '@earendil-works/pi-coding-agent'
import type { Environment } from '../environment.ts'
import { GatewayProvider } from '../gateway/gateway-provider.ts'
import { ModelFaultError } from '../gateway/model-facts.ts'
import { configOf } from '../mcp/server-config.ts'
import { Servers } from '../mcp/servers.ts'
import { Updates } from '../protocol/updates.ts'
import { askUser } from '../tools/ask-user.ts'
import { background } from '../tools/background/background.ts'
import { BackgroundCommands, type BackgroundView } from '../tools/background/background-commands.ts'
import { Diagnostics } from '../tools/diagnostics/diagnostics.ts'
import { exitPlanMode } from '../tools/exit-plan-mode.ts'
import { type People, takenBackBy } from '../tools/people.ts'
import { type TodoItem, todo, todoReminder } from '../tools/todo.ts'
import { workspaceTools } from '../tools/tool-set.ts'
import { isNotice, type MadeAgent, makeAgent, noticeMessage } from './agent-parts.ts'
import { withFiles } from './attached-files.ts'
import { readCommand } from './command.ts'
import { BACKGROUND, backgroundIn, PLAN_MODE, planningIn, settleOpenCalls, TODO, todoIn } from './conversation-state.ts'
import { delegate } from './delegate.ts'
import { type Effort, levelOf } from './effort.ts'
import { Limits } from './limits.ts'
import { type Orders, readOrders } from './orders.ts'
import { answerOf, type Outcome, outcomeOf } from './outcome.ts'
import { type PromptInput, readPrompt } from './prompt-text.ts'
import { endWithChecks } from './quick-checks.ts'
import { createSession, openSession } from './session-file.ts'
import { hasSteered, Steering } from './steering.ts'
import { Stopwatch } from './stopwatch.ts'
import { loadSubAgents } from './sub-agents.ts'
import { planReminder } from './system-prompt.ts'
import { titleFor } from './title.ts'
import { WorkspaceChanges } from './workspace-changes.ts'

/** Options for opening a session. */
export interface Opening {
  readonly id: string
  readonly cwd: string
  /** Servers besides those that the workspace names. */
  readonly mcpServers: readonly McpServer[]
  readonly client: AgentContext
  readonly capabilities: ClientCapabilities
  readonly environment: Environment
}

/**
 * One conversation, with its file, its agent and at most one prompt at a time.
 *
 * The first prompt names the model, so the agent is created then. All state that must outlive the process is in the
 * file: messages, compactions, clearings, the to-do list, and whether plan mode is on.
 */
export class EngineSession {
  readonly #opening: Opening
  readonly #manager: SessionManager
  readonly #updates: Updates
  readonly #people: People
  readonly #background: BackgroundCommands
  readonly #servers: Servers
  readonly #diagnostics: Diagnostics
  readonly #steering = new Steering()
  #provider: GatewayProvider | null = null
  #made: MadeAgent | null = null
  #planning: boolean
  /** Of the prompt under way, if checks are to run at its end. */
  #changes: WorkspaceChanges | null = null
  #effort: Effort | undefined
  #limits = new Limits({}, 1)
  /** The limits of this process's last prompt; null before the first. */
  #earlier: Limits | null = null
  /** The prompt's last assistant message, even one that the conversation does not keep. */
  #last: AgentSession['messages'][number] | undefined
  #stop: AbortController | null = null
  #clock = new Stopwatch(null, () => undefined)

  static create(opening: Opening): EngineSession {
    const { environment, id, cwd } = opening
    return new EngineSession(opening, createSession(environment.sessionsDir, id, cwd))
  }

  /** @returns null if there is no such conversation */
  static load(opening: Opening): EngineSession | null {
    const { environment, id, cwd } = opening
    const opened = openSession(environment.sessionsDir, id, cwd)
    if (opened === null) return null
    const session = new EngineSession(opening, opened.manager)
    const branch = opened.manager.getBranch()
    session.#updates.replay(branch)
    const items = todoIn(branch)
    if (items.length > 0) session.#updates.plan(items)
    if (opened.truncation !== null) session.#updates.event({ type: 'timeline_truncated', data: opened.truncation })
    return session
  }

  private constructor(opening: Opening, manager: SessionManager) {
    const { client, id, cwd, mcpServers, capabilities, environment } = opening
    this.#opening = opening
    this.#manager = manager
    this.#updates = this.#updatesOf()
    this.#people = {
      sessionId: id,
      capabilities,
      callId: call => this.#updates.callId(call),
      ask: (method, params, call) => this.#clock.pausedFor(() => client.request(method, params, takenBackBy(call))),
    }
    // Also those before a clearing: it ends none.
    const past = backgroundIn(manager.getEntries())
    this.#background = new BackgroundCommands(cwd, id, past, {
      keep: state => void manager.appendCustomEntry(BACKGROUND, state),
      report: commands => this.#reportBackground(commands),
    })
    this.#servers = new Servers(mcpServers.map(configOf), {
      cwd,
      env: process.env,
      people: this.#people,
      startMs: environment.serverStartMs,
      waitMs: environment.serverWaitMs,
      listMs: environment.serverStartMs,
      callMs: environment.serverCallMs,
    })
    this.#diagnostics = new Diagnostics(cwd, environment.diagnosticsMs, () => this.#planning)
    this.#planning = planningIn(manager.getBranch())
    settleOpenCalls(manager)
  }

  /** Resolves when every report to the client has been written. */
  get reported(): Promise<unknown> {
    return this.#updates.written
  }

  /** True while a prompt is running; a session runs one at a time. */
  get busy(): boolean {
    return this.#stop !== null
  }

  async prompt(request: PromptRequest): Promise<PromptResponse> {
    const stop = new AbortController()
    this.#stop = stop
    const orders = readOrders(request._meta)
    const earlier = orders.continues ? this.#earlier : null
    const limits = earlier ?? new Limits(orders.budgets, this.#opening.environment.maxTurns)
    this.#limits = limits
    this.#earlier = limits
    this.#last = undefined
    const { seconds } = orders.budgets
    this.#clock = new Stopwatch(seconds === undefined ? null : seconds * 1000, () => this.#end('time_budget'))
    let outcome: Outcome
    try {
      outcome = await this.#perform(readPrompt(request.prompt), orders, stop.signal)
      const fault = this.#provider?.lastFault
      if (outcome.errorCode !== undefined && outcome.errorCode === fault?.code) this.#updates.modelTrouble(fault.detail)
    } catch (error) {
      if (limits.reason !== null) outcome = { stopReason: limits.reason }
      else if (error instanceof ModelFaultError) {
        this.#updates.modelTrouble(error.fault.detail)
        outcome = { stopReason: 'error', errorCode: error.fault.code }
      } else throw error
    } finally {
      this.#clock.stop()
      this.#stop = null
      this.#steering.end()
      this.#background.promptEnded()
    }
    if (limits.reason === 'aborted') await this.#background.stop()
    await this.#updates.written
    return answerOf(outcome, limits.turns)
  }

  /**
   * Puts a message into the conversation at the next step of the prompt under way. A message that the conversation has
   * already is not put there twice.
   *
   * @returns true once the conversation has it, false if no prompt is under way or its work ends before
   */
  async steer(id: string, prompt: readonly ContentBlock[]): Promise<boolean> {
    if (hasSteered(this.#manager.getBranch(), id)) return true
    return (
      this.busy && this.#limits.reason === null && (await this.#steering.add(id, this.#withFiles(readPrompt(prompt))))
    )
  }

  cancel(): void {
    if (this.#stop !== null) this.#end('aborted')
  }

  /** Stops the prompt, with its commands, those in the background, and the servers. */
  async close(): Promise<void> {
    this.cancel()
    this.#diagnostics.close()
    await Promise.all([this.#agent?.abort(), this.#servers.close(), this.#background.kill()])
    this.#agent?.dispose()
  }

  get #agent(): AgentSession | undefined {
    return this.#made?.agent
  }

  #end(reason: 'aborted' | 'time_budget'): void {
    this.#limits.stop(reason)
    this.#stop?.abort()
    void this.#agent?.abort()
  }

  async #perform(input: PromptInput, orders: Orders, signal: AbortSignal): Promise<Outcome> {
    if (orders.answer?.approvesPlan === true) this.#setPlanning(false)
    const { command, text } =
      orders.answer === undefined ? readCommand(input.text) : { command: null, text: input.text }
    if (command === 'clear') this.#clear()
    if (command === 'plan') this.#setPlanning(true)
    const hasMore = text.trim() !== '' || input.images.length > 0
    if (!hasMore && (command === 'plan' || command === 'clear')) {
      this.#updates.text(command === 'plan' ? 'Plan mode is on.' : 'The conversation is cleared.')
      return { stopReason: 'completed' }
    }
    const modelId = orders.model ?? this.#manager.buildSessionContext().model?.modelId
    if (modelId === undefined) return { stopReason: 'error', errorCode: 'model_not_configured' }
    this.#effort = orders.effort
    const agent = await this.#agentFor(modelId, orders, signal)
    signal.throwIfAborted()
    if (command === 'compact') return this.#compact(agent, text)
    if (command === 'plan') {
      const reminder = { customType: 'plan_reminder', content: planReminder, display: false, details: undefined }
      await agent.sendCustomMessage(reminder, { deliverAs: 'nextTurn' })
    }
    const notices = this.#background.takeNotices()
    if (notices.length > 0) {
      // The client takes no news between two prompts.
      this.#reportBackground(this.#background.list)
      await agent.sendCustomMessage(noticeMessage(notices), { deliverAs: 'nextTurn' })
    }
    this.#steering.open(agent)
    const { text: whole, images } = this.#withFiles({ ...input, text })
    const titled = orders.title && text.trim() !== '' ? this.#giveTitle(text, signal) : null
    const changes = orders.checks.length === 0 ? null : await WorkspaceChanges.since(this.#opening.cwd, signal)
    this.#changes = changes
    await agent.prompt(whole, { images, expandPromptTemplates: false })
    await titled
    if (changes !== null) {
      const isDone = () => !this.#planning && outcomeOf(this.#limits, this.#last).stopReason === 'completed'
      const parts = { agent, changes, cwd: this.#opening.cwd, signal, isDone }
      await endWithChecks({ ...parts, checks: orders.checks, addText: added => this.#updates.text(added) })
    }
    return outcomeOf(this.#limits, this.#last)
  }

  async #giveTitle(message: string, signal: AbortSignal): Promise<void> {
    const title = this.#provider === null ? null : await titleFor(this.#provider, message, signal)
    if (title !== null) this.#updates.title(title)
  }

  /** Returns the input with its files, and reports those. */
  #withFiles(input: PromptInput): PromptInput {
    const { attached, ...whole } = withFiles(
      input,
      this.#opening.cwd,
      this.#agent?.model?.input.includes('image') === true,
    )
    this.#updates.given('attachment', attached)
    return whole
  }

  /** Returns the agent, set to this model. */
  async #agentFor(modelId: string, { search }: Orders, signal: AbortSignal): Promise<AgentSession> {
    const { environment, cwd } = this.#opening
    this.#provider ??= await GatewayProvider.create(environment)
    const provider = this.#provider
    provider.gate = {
      stopped: () => this.#limits.reason !== null,
      outputTokensLeft: () => this.#limits.outputTokensLeft,
      whileWaiting: work => this.#clock.pausedFor(work),
    }
    const [model] = await Promise.all([provider.model(modelId, signal), this.#servers.refresh(signal)])
    for (const { server, reason } of this.#servers.takeNotices()) this.#updates.serverTrouble(server, reason)
    if (this.#made !== null) {
      const { agent, equip } = this.#made
      if (agent.model?.id !== model.id) await agent.setModel(model)
      agent.setThinkingLevel(levelOf(this.#effort))
      equip()
      return agent
    }
    const searchUrl = search ? new URL('/_berth/search', environment.gatewayUrl) : null
    const delegating = {
      environment,
      provider,
      cwd,
      definitions: loadSubAgents(cwd),
      model: async (id: string | undefined, call = signal) =>
        (id === undefined ? null : await provider.listed(id, call)) ?? this.#modelInUse(model),
      effort: () => this.#effort,
      tools: workspaceTools(cwd, searchUrl, null, this.#diagnostics),
      servers: this.#servers,
      planning: () => this.#planning,
      limits: () => this.#limits,
      updates: (delegationId: string) => this.#updatesOf(delegationId),
    }
    const tools = [
      ...workspaceTools(cwd, searchUrl, this.#background, this.#diagnostics),
      background(this.#background),
      askUser(this.#people),
      todo(items => this.#keepTodo(items)),
      exitPlanMode(this.#people, () => this.#setPlanning(false)),
      delegate(delegating),
    ]
    const limits = () => this.#limits
    const { planning } = delegating
    const made = await makeAgent({
      environment,
      provider,
      model,
      effort: this.#effort,
      manager: this.#manager,
      tools,
      servers: this.#servers,
      planning,
      cwd,
      limits,
      notices: () => this.#background.takeNotices(),
      instructed: paths => this.#updates.given('instructions', paths),
    })
    const { agent, unusableSkills } = made
    for (const { path, reason } of unusableSkills) this.#updates.skillTrouble(path, reason)
    agent.subscribe(event => {
      if (event.type === 'message_end' && event.message.role === 'assistant') this.#last = event.message
      this.#changes?.follow(event)
      if (event.type === 'message_end') this.#steering.entered(event.message)
      // The conversation has a message as soon as all have heard of it.
      if (event.type === 'message_end' && isNotice(event.message)) queueMicrotask(() => this.#background.reported())
      if (event.type === 'compaction_end' && event.result !== undefined) this.#repeatTodo()
      this.#updates.follow(event)
    })
    this.#made = made
    return agent
  }

  #updatesOf(delegationId?: string): Updates {
    const { client, id, cwd } = this.#opening
    const viewOfTool = (name: string) => this.#servers.tools.find(({ definition }) => definition.name === name)
    return new Updates(client, id, cwd, viewOfTool, delegationId)
  }

  #modelInUse(first: Model<Api>): Model<Api> {
    return this.#agent?.model ?? first
  }

  #setPlanning(planning: boolean): void {
    this.#planning = planning
    this.#manager.appendCustomEntry(PLAN_MODE, { on: planning })
    this.#made?.equip()
  }

  #reportBackground(commands: readonly BackgroundView[]): void {
    this.#updates.event({ type: 'background_updated', data: { commands } })
  }

  #keepTodo(items: readonly TodoItem[]): void {
    this.#manager.appendCustomEntry(TODO, { items })
    this.#updates.plan(items)
  }

  /** A summary may leave out the calls that wrote the list, so the conversation gets it again, if anything is left to do. */
  #repeatTodo(): void {
    const items = todoIn(this.#manager.getBranch())
    if (items.every(({ status }) => status === 'completed')) return
    this.#manager.appendCustomMessageEntry(TODO, todoReminder(items), false)
  }

  /** Clears the conversation: earlier messages stay in the file, but the model no longer sees them. */
  #clear(): void {
    this.#manager.resetLeaf()
    this.#manager.appendCustomEntry('cleared')
    if (this.#planning) this.#setPlanning(false)
    this.#agent?.refreshContext()
    this.#updates.event({ type: 'conversation_cleared', data: {} })
  }

  async #compact(agent: AgentSession, instructions: string): Promise<Outcome> {
    try {
      await agent.compact(instructions.trim() || undefined)
      this.#updates.text('The conversation is compacted.')
      return { stopReason: 'completed' }
    } catch (error) {
      const { reason } = this.#limits
      if (reason !== null) return { stopReason: reason }
      const why = error instanceof Error ? error.message : String(error)
      if (!/^(Nothing to compact|Already compacted)/.test(why))
        return { stopReason: 'error', errorCode: 'compaction_failed' }
      this.#updates.text('There is nothing to compact yet.')
      return { stopReason: 'completed' }
    }
  }
}
