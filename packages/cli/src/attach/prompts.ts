import {
  type Answer,
  answerMessage,
  type DecisionChoice,
  faultOf,
  type Interaction,
  initialAnswer,
  type Question,
} from '@berth/client'
import type { Paint } from '../output.ts'
import { exact } from '../terminal-text.ts'

/** A person's reply to an Interaction. */
export type Reply =
  | { readonly kind: 'decide'; readonly choice: DecisionChoice }
  | { readonly kind: 'reply'; readonly message: string }
  /** It cannot be meant; the text says why. */
  | { readonly kind: 'fault'; readonly text: string }
  /** There is more to ask. */
  | { readonly kind: 'next' }

/** An Interaction as it is asked in a terminal, one question after the other. */
export interface Prompt {
  /** The lines that show the pending decision; none of it is cut. */
  lines(paint: Paint): string[]
  /** The text before the answer. */
  readonly label: string
  answer(text: string): Reply
}

/** Returns how an Interaction is asked. */
export function promptOf(interaction: Interaction): Prompt {
  const { approval, plan, prompt } = interaction.request
  if (approval !== undefined) return approvalOf(interaction)
  if (interaction.kind === 'exit_plan_mode') return planOf(plan ?? prompt ?? '', prompt ?? '')
  return questionsOf(interaction.request.questions ?? [])
}

/** The letters of decisions; a wider one only if the agent can remember it. */
const decisions: readonly { letter: string; choice: DecisionChoice; label: string; scope: string | null }[] = [
  { letter: 'y', choice: 'allow_once', label: 'yes, once', scope: null },
  { letter: 't', choice: 'allow_turn', label: 'for this turn', scope: 'turn' },
  { letter: 'a', choice: 'allow_chat', label: 'always in this session', scope: 'chat' },
  { letter: 'p', choice: 'allow_project', label: 'for the environment', scope: 'project' },
  { letter: 'n', choice: 'deny', label: 'no', scope: null },
]

/** Words for requests that name no tool of the agent's own, by the kinds of the Agent Client Protocol. */
const uses: ReadonlyMap<string, string> = new Map([
  ['read', 'read a file'],
  ['edit', 'change a file'],
  ['delete', 'delete a file'],
  ['move', 'move a file'],
  ['search', 'search'],
  ['execute', 'run a command'],
  ['fetch', 'fetch something'],
  ['network', 'let a program reach a host'],
])

function approvalOf({ request: { approval }, deadline }: Interaction): Prompt {
  const { title, toolName = '', input, reason, destination, confinement, rememberScopes = [] } = approval ?? {}
  const open = decisions.filter(({ scope }) => scope === null || rememberScopes.some(each => each === scope))
  const label = open.map(({ letter, label: meaning }) => `${letter} ${meaning}`).join(' · ')
  return {
    label: `Allow it? ${label} ›`,
    lines: paint => [
      paint(['bold', 'yellow'], `? The agent asks to ${uses.get(toolName) ?? `use ${exact(toolName)}`}`),
      ...facts(paint, [
        ['action', title],
        ['input', input === undefined ? undefined : inputOf(input)],
        ['reason', reason],
        ['to', destination],
        ['within', confinement],
        ['until', deadline === undefined ? undefined : new Date(deadline).toLocaleTimeString()],
      ]),
    ],
    answer(text) {
      const typed = text.trim().toLowerCase()
      const found = open.find(
        ({ letter }) => letter === typed || ((typed === 'yes' || typed === 'no') && letter === typed[0]),
      )
      if (found !== undefined) return { kind: 'decide', choice: found.choice }
      const letters = open.map(({ letter }) => letter)
      return { kind: 'fault', text: `type ${letters.slice(0, -1).join(', ')} or ${letters.at(-1)}, then Enter` }
    },
  }
}

/** A single command is shown as it would be typed; anything else as the whole JSON. */
function inputOf(input: Readonly<Record<string, unknown>>): string {
  const { command } = input
  return typeof command === 'string' && Object.keys(input).length === 1 ? command : JSON.stringify(input, null, 2)
}

function facts(paint: Paint, all: readonly (readonly [name: string, text: string | undefined])[]): string[] {
  return all.flatMap(([name, text]) => {
    if (text === undefined || text === '') return []
    const [first = '', ...rest] = exact(text).split('\n')
    return [`  ${paint('dim', name.padEnd(7))} ${first}`, ...rest.map(line => `${' '.repeat(10)}${line}`)]
  })
}

function planOf(plan: string, prompt: string): Prompt {
  return {
    label: 'Approve the plan? y, or what to change ›',
    lines: paint => [
      paint(
        ['bold', 'yellow'],
        `? ${prompt === '' || prompt === plan ? 'The agent proposes a plan' : exact(prompt).replaceAll('\n', ' ')}`,
      ),
      ...exact(plan)
        .split('\n')
        .map(line => `  ${line}`),
    ],
    answer(text) {
      const typed = text.trim()
      if (typed === '') return { kind: 'fault', text: 'type y to approve it, or what to change' }
      return { kind: 'reply', message: /^(y|yes|approve)$/i.test(typed) ? 'approve' : typed }
    },
  }
}

function questionsOf(questions: readonly Question[]): Prompt {
  const answers: Answer[] = []
  const current = () => questions[answers.length]
  return {
    get label() {
      const question = current()
      if (question === undefined) return 'Answer ›'
      const { options, multiSelect = false, required = false } = question
      const numbers = options.length === 0 ? '' : multiSelect ? 'numbers, with commas' : `1-${options.length}`
      const own = options.length === 0 ? 'Answer' : question.allowCustom === false ? '' : 'or your own words'
      const rest = hasDefault(question)
        ? 'Enter for the default'
        : required || questions.length === 1
          ? ''
          : 'Enter to skip'
      return `${[numbers, own, rest].filter(Boolean).join(', ')} ›`
    },
    lines(paint) {
      const question = current()
      if (question === undefined) return [paint(['bold', 'yellow'], '? The agent asks')]
      const place = questions.length === 1 ? '' : paint('dim', ` (${answers.length + 1} of ${questions.length})`)
      const initial = initialAnswer(question)
      const options = question.options.map((option, at) => {
        const notes = [
          ...(question.recommendedIndex === at ? ['recommended'] : []),
          ...(initial.chosen.includes(at) ? ['default'] : []),
        ]
        return `  ${at + 1}  ${exact(option).replaceAll('\n', ' ')}${notes.length === 0 ? '' : paint('dim', ` (${notes.join(', ')})`)}`
      })
      const [first = '', ...rest] = exact(question.question).split('\n')
      const preset = initial.freeText === '' ? [] : [`  ${paint('dim', `default: ${exact(initial.freeText)}`)}`]
      return [
        `${paint(['bold', 'yellow'], `? ${first}`)}${place}`,
        ...rest.map(line => `  ${line}`),
        ...options,
        ...preset,
      ]
    },
    answer(text) {
      const question = current()
      if (question === undefined) {
        return text.trim() === '' ? { kind: 'fault', text: 'type an answer' } : { kind: 'reply', message: text }
      }
      const answer = readAnswer(question, text)
      const fault = typeof answer === 'string' ? answer : faultOf(question, answer)
      const isNothing = typeof answer !== 'string' && answer.chosen.length === 0 && answer.freeText.trim() === ''
      if (fault !== undefined || typeof answer === 'string') return { kind: 'fault', text: fault ?? String(answer) }
      if (isNothing && questions.length === 1) return { kind: 'fault', text: 'An answer is required.' }
      answers.push(answer)
      return answers.length < questions.length
        ? { kind: 'next' }
        : { kind: 'reply', message: answerMessage(questions, answers) }
    },
  }
}

const hasDefault = (question: Question): boolean => {
  const { chosen, freeText } = initialAnswer(question)
  return chosen.length > 0 || freeText !== ''
}

/** Reads numbers and labels of options, or free text; returns a text that says why it is none of them. */
function readAnswer(question: Question, text: string): Answer | string {
  const typed = text.trim()
  if (typed === '') return initialAnswer(question)
  const { options, multiSelect = false, allowCustom } = question
  if (options.length === 0) return { chosen: [], freeText: typed }
  const parts = multiSelect ? typed.split(',').map(part => part.trim()) : [typed]
  const chosen = parts.map(part => {
    const number = /^\d+$/.test(part) ? Number(part) - 1 : -1
    return number >= 0 && number < options.length
      ? number
      : options.findIndex(option => option.toLowerCase() === part.toLowerCase())
  })
  if (chosen.every(at => at >= 0)) return { chosen: [...new Set(chosen)].sort((a, b) => a - b), freeText: '' }
  if (allowCustom === false) return `choose ${multiSelect ? 'numbers' : 'a number'} from 1 to ${options.length}`
  return { chosen: [], freeText: typed }
}
