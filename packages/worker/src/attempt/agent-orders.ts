import type { Effort } from '@berth/contract'
import { lastRefusalOf } from '@berth/core/accounting/last-refusal.ts'
import { requireDocumentOfLease } from '@berth/core/environments/fix-environment.ts'
import { NATIVE_RUNTIME, type RuntimeEntry } from '@berth/core/runtimes/catalog.ts'
import type { InteractionRow } from '@berth/core/sessions/interactions/interaction.ts'
import {
  findLastBudgetQuestion,
  listFeedback,
  listUndelivered,
} from '@berth/core/sessions/interactions/interaction-sql.ts'
import { type LeaseRow, startAgentFrom } from '@berth/core/sessions/leases/lease-sql.ts'
import { readRecap } from '@berth/core/sessions/runs/recap.ts'
import { hasEarlierWork } from '@berth/core/sessions/runs/run-sql.ts'
import type { TurnRow } from '@berth/core/sessions/turns/turn.ts'
import { findTurn, listSteering } from '@berth/core/sessions/turns/turn-sql.ts'
import type { RunBudgets } from '@berth/platform/settings/run-budgets.ts'
import {
  barrier,
  budgetPlace,
  budgetQuestionOf,
  cancelPrompt,
  feedbackPlace,
  feedbackUntil,
  initialize,
  type Order,
  openSession,
  outputPlace,
  type PromptOf,
  prompt,
  steer,
} from '../agent/acp-orders.ts'
import { answerTo } from '../agent/acp-questions.ts'
import { type AddedVariables, agentEnvironment, environmentWith } from '../agent/agent-environment.ts'
import type { AgentFacts } from '../agent/agent-handshake.ts'
import { serversFor } from '../agent/mcp-servers.ts'
import { answerBlocks, answersMeta, budgetRaised, feedbackBlocks, promptBlocks } from '../agent/prompt-blocks.ts'
import type { RunClaim } from '../claim/claim.ts'
import { type ExecutionContext, modelOf } from '../claim/execution-context.ts'
import { saveAgentModel } from '../claim/progress-sql.ts'
import { underFence } from '../claim/under-fence.ts'
import type { SupervisorConnection } from '../supervisor/connection.ts'
import { placeInputs } from '../workspace/place-inputs.ts'

/** Time between asking an agent to end and killing it. */
export const STOP_GRACE_MS = 1_000

/** Everything that the orders of an attempt are built from. */
export interface OrderParts {
  readonly claim: RunClaim
  readonly turn: TurnRow
  readonly runtime: RuntimeEntry
  readonly lease: LeaseRow
  /** The agent's working directory. */
  readonly cwd: string
  readonly connection: SupervisorConnection
  readonly budgets: RunBudgets
  /** What the lease's environment adds to the agent's variables; null without one. */
  readonly environment: AddedVariables | null
  /** Answers that people gave while the Run was parked. */
  readonly unheard: readonly InteractionRow[]
  /** Nobody has given the Session a title, so the agent may. */
  readonly isTitleDerived: boolean
}

interface AgentModel {
  readonly model: string | null
  readonly effort: Effort | null
}

/**
 * Sends the orders of one attempt to its agent. The supervisor takes each key once, and this worker sends each key
 * once. So a repeated order has no effect, here or after a takeover.
 */
export class AgentOrders {
  readonly #context: ExecutionContext
  readonly #parts: OrderParts
  readonly #of: PromptOf
  readonly #given = new Set<string>()
  /** The earlier conversation, for an agent that cannot load it; its first prompt includes this. */
  #recap: string | null
  /** The model and the effort that the agent's process was started for. */
  #startedFor: AgentModel

  constructor(context: ExecutionContext, of: PromptOf, parts: OrderParts) {
    this.#context = context
    this.#of = of
    this.#parts = parts
    this.#recap = parts.lease.recap
    this.#startedFor = { model: parts.lease.agent_model, effort: parts.lease.agent_effort }
  }

  /**
   * True if the Run needs another model, or another effort, than the agent's process was started for. The next process loads the
   * conversation.
   */
  get otherModel(): boolean {
    const { model, effort } = this.#modelOfAgent()
    return model !== this.#startedFor.model || effort !== this.#startedFor.effort
  }

  async give(order: Order): Promise<void> {
    if (!this.#isNew(order.key)) return
    await this.#parts.connection.send(order.key, order.line)
  }

  /**
   * Answers a request at once. Replies, unlike orders, are not tracked for deduplication: an agent may send any number
   * of requests.
   */
  async reply({ key, line }: Order): Promise<void> {
    await this.#parts.connection.send(key, line)
  }

  /** Stops the agent's process; the journal then records its end. */
  async stop(key: string): Promise<void> {
    await this.#parts.connection.stop(key, STOP_GRACE_MS)
  }

  async start(generation: number): Promise<void> {
    const key = `start/${generation}`
    if (!this.#isNew(key)) return
    const { claim, connection, cwd, environment, lease, runtime } = this.#parts
    const { command, env, modelEnv, reach, serversEnv } = runtime
    const chosen = this.#modelOfAgent()
    const { model, effort } = chosen
    const modelVariables = model === null ? {} : modelEnv?.(this.#context.models.facts(model, effort))
    if (this.otherModel) {
      await underFence(this.#context, claim, tx => saveAgentModel(tx, lease.id, chosen))
      this.#startedFor = chosen
    }
    const base = environment === null ? agentEnvironment(reach) : environmentWith(reach, environment)
    const serving = (lease.apply?.servers ?? []).length > 0 ? serversEnv : {}
    await connection.start({ key, command, env: { ...base, ...modelVariables, ...env, ...serving }, cwd })
  }

  async initialize(generation: number): Promise<void> {
    await this.give(initialize(generation))
  }

  async awaitRepetition(generation: number): Promise<void> {
    await this.give(barrier(generation))
  }

  /**
   * Opens the agent's session. A later process loads the conversation of earlier Runs; if it cannot, its first prompt
   * recaps the log. Without earlier work there is nothing to load, even if a lost attempt wrote to the log.
   */
  async openSession({ generation, loadsSessions, mcp, sessionId }: AgentFacts): Promise<void> {
    const { claim, cwd, environment, lease, runtime, unheard } = this.#parts
    const earlier = unheard.length > 0 || (await hasEarlierWork(this.#context.db, claim, claim.runId))
    const loads = earlier && loadsSessions
    if (earlier && !loads && sessionId !== null) this.#recap = await keepRecap(this.#context, claim, lease.id)
    const values = environment === null ? {} : environmentWith(runtime.reach, environment)
    const servers = serversFor(lease.apply?.servers ?? [], mcp, values)
    await this.give(openSession(generation, cwd, loads ? sessionId : null, servers))
  }

  /** Sends the Turn or, after the Run was parked, the answers that people have given since. */
  async prompt({ generation, sessionId }: AgentFacts): Promise<void> {
    for (const row of this.#parts.unheard) await this.#placeFilesOf(row)
    const { isTitleDerived, turn } = this.#parts
    const title = turn.sequence === 0 && isTitleDerived
    const checks = await this.#quickChecks()
    const meta = { ...this.#promptMeta(), ...(title && { title }), ...(checks.length > 0 && { checks }) }
    await this.give(prompt(this.#of, generation, { sessionId: sessionId ?? '', blocks: this.#promptBlocks(), meta }))
  }

  /**
   * Returns a second prompt of the same Run with the feedback that people gave on a foreign agent's plans. ACP has no
   * field for feedback beside the refusal.
   *
   * @returns null if there is no feedback
   */
  async feedback({ activePrompt, generation, sessionId }: AgentFacts): Promise<Order | null> {
    const { claim, lease, runtime } = this.#parts
    if (runtime.id === NATIVE_RUNTIME) return null
    const rows = await listFeedback(this.#context.db, lease.id, claim.runId, feedbackUntil(activePrompt))
    const newest = rows.at(-1)
    if (newest === undefined) return null
    const place = feedbackPlace(generation, newest.journal_offset)
    const meta = this.#promptMeta()
    return prompt(this.#of, place, { sessionId: sessionId ?? '', blocks: feedbackBlocks(rows), meta })
  }

  /**
   * Returns the prompt on which a foreign agent goes on whose last request a budget refused: such agents end their prompt
   * then. `held`: people have not decided yet. A script has nothing that could go on.
   *
   * @returns null if no budget has ended the prompt
   */
  async afterBudget(facts: AgentFacts, answeredAt: Date | null): Promise<Order | 'held' | null> {
    const { claim, lease, runtime } = this.#parts
    if (runtime.id === NATIVE_RUNTIME || runtime.stateless === true) return null
    const { db } = this.#context
    const question = await findLastBudgetQuestion(db, lease.id, claim.runId)
    if (question?.status === 'open') return 'held'
    if (question === null || (await lastRefusalOf(db, claim, answeredAt)) !== 'budget_reached') return null
    const { activePrompt, generation, sessionId } = facts
    if (budgetQuestionOf(activePrompt) === question.journal_offset) return null
    const place = budgetPlace(generation, feedbackUntil(activePrompt), question.journal_offset)
    const meta = { ...this.#promptMeta(), answers: undefined, continues: true }
    const blocks = [{ type: 'text', text: budgetRaised }]
    return prompt(this.#of, place, { sessionId: sessionId ?? '', blocks, meta })
  }

  /** Returns a further prompt of the same Run that tells the agent to answer once more. */
  askAgain({ activePrompt, generation, sessionId }: AgentFacts, text: string): Order {
    const place = outputPlace(generation, feedbackUntil(activePrompt))
    // The answers of people are told once.
    const meta = { ...this.#promptMeta(), answers: undefined, continues: true }
    return prompt(this.#of, place, { sessionId: sessionId ?? '', blocks: [{ type: 'text', text }], meta })
  }

  /**
   * Gives the agent at work the messages that are to join its work, in order.
   *
   * @param expect is told of each before it is given
   */
  async giveSteering({ generation, sessionId }: AgentFacts, expect: (turnId: string) => void): Promise<void> {
    const { claim, lease, runtime } = this.#parts
    if (runtime.steers !== true) return
    for (const turn of await listSteering(this.#context.db, claim, claim.runId)) {
      const { id: turnId, sequence: turnSequence } = turn
      const blocks = promptBlocks(turn, null)
      const order = steer(this.#of, generation, { sessionId: sessionId ?? '', turnId, turnSequence, blocks })
      if (this.#given.has(order.key)) continue
      await placeInputs(this.#context, lease.id, turn)
      expect(turnId)
      await this.give(order)
    }
  }

  async cancelPrompt(sessionId: string): Promise<void> {
    await this.give(cancelPrompt(this.#of, sessionId))
  }

  /** Gives the agent people's answers to its requests, including those given while another worker held the Run. */
  async giveAnswers(): Promise<void> {
    for (const row of await listUndelivered(this.#context.db, this.#parts.lease.id)) {
      if (row.status === 'open') continue
      const reply = answerTo(row)
      if (this.#given.has(reply.key)) continue
      await this.#placeFilesOf(row)
      await this.give(reply)
    }
  }

  #isNew(key: string): boolean {
    if (this.#given.has(key)) return false
    this.#given.add(key)
    return true
  }

  #promptBlocks(): object[] {
    const { lease, runtime, turn, unheard } = this.#parts
    if (unheard.length === 0) {
      const brought = lease.brought?.turnId === turn.id ? lease.brought : null
      return promptBlocks(turn, this.#recap, { isScript: runtime.isScript === true, brought })
    }
    return [...(this.#recap === null ? [] : [{ type: 'text', text: this.#recap }]), ...answerBlocks(unheard)]
  }

  #promptMeta(): object {
    const { budgets, claim, runtime, unheard } = this.#parts
    const model = modelOf(this.#context, claim.run, runtime)
    const { effort } = claim.run
    return {
      ...(model !== null && { model }),
      ...(effort !== null && { effort }),
      ...(this.#context.search !== undefined && { search: true }),
      ...(Object.keys(budgets).length > 0 && { budgets }),
      ...(unheard.length > 0 && { answers: answersMeta(unheard) }),
    }
  }

  /** Returns the checks that Berth's own agent runs before it ends. An output is a value, to which it cannot add what it ran. */
  async #quickChecks(): Promise<readonly object[]> {
    const { lease, runtime, turn } = this.#parts
    if (runtime.id !== NATIVE_RUNTIME || turn.output_schema !== null || lease.environment_revision === null) return []
    const { checks } = await requireDocumentOfLease(this.#context.db, lease)
    return checks
      .filter(({ quick }) => quick === true)
      .map(({ name, run, timeoutSeconds, paths }) => ({ name, run, timeoutSeconds, ...(paths && { paths }) }))
  }

  /** Returns the model and effort that the agent's environment names; none if its runtime does not name one. */
  #modelOfAgent(): AgentModel {
    const { claim, runtime } = this.#parts
    if (runtime.modelEnv === undefined) return { model: null, effort: null }
    return { model: modelOf(this.#context, claim.run, runtime), effort: claim.run.effort }
  }

  async #placeFilesOf({ response_turn_id: turnId }: InteractionRow): Promise<void> {
    if (turnId === null) return
    const { claim, lease } = this.#parts
    const turn = await findTurn(this.#context.db, claim, turnId)
    if (turn !== null) await placeInputs(this.#context, lease.id, turn)
  }
}

/**
 * Reads the recap for an agent process that cannot load its predecessor's conversation. It stores the recap with the
 * lease before the process is asked for anything, so a worker that takes over tells the same.
 */
export async function keepRecap(context: ExecutionContext, claim: RunClaim, leaseId: string): Promise<string | null> {
  const recap = await readRecap(context.db, claim, { without: claim.runId })
  await underFence(context, claim, tx => startAgentFrom(tx, leaseId, { agentSessionId: null, recap }))
  return recap
}
