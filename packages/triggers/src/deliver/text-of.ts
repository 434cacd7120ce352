import { pullRequestDraft } from '@berth/client'
import { limits, type OutputRequest, type TriggerDeliver } from '@berth/contract'
import { cutText, storable } from '@berth/core/sessions/log/bounded-text.ts'
import { textAt } from '../payload-field.ts'

const TITLE_CHARACTERS = 256
/** Room for the lines below the agent's own. */
const FOOTER_BYTES = 2_048

/** The text of a Publication. */
interface PublishedText {
  readonly title: string
  /** Markdown. */
  readonly body: string
}

const schema = {
  type: 'object',
  properties: {
    title: {
      type: 'string',
      minLength: 1,
      maxLength: TITLE_CHARACTERS,
      description: 'The title of a pull request with your changes, in one line.',
    },
    body: { type: 'string', description: 'What the changes do and why, in Markdown, for whoever reviews them.' },
  },
  required: ['title', 'body'],
  additionalProperties: false,
} as const

/** Returns the output that a Turn asks its Run for, as far as its changes are published by that. */
export const outputOf = (deliver: TriggerDeliver | null): { readonly output?: OutputRequest } =>
  deliver?.text === 'output' ? { output: { schema } } : {}

/** Returns a text as one line that a Git host takes for a title. */
export function titleLine(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').trim()
  return [...line].slice(0, TITLE_CHARACTERS).join('').trim()
}

/** What a text is made of. */
interface TextParts {
  readonly deliver: TriggerDeliver
  readonly run: { readonly result: { readonly summary?: string } | null; readonly output: string | null }
  readonly session: { readonly title: string; readonly url: string }
  /** Number of the issue or pull request where it was asked for; null: elsewhere. */
  readonly issue: number | null
  /** The title of the Session's pull request, which later deliveries keep; null: there is none yet. */
  readonly before: string | null
}

/** Returns title and text of what a Run publishes: the Run's own words, below the lines that say where they come from. */
export function publishedText({ deliver, run, session, issue, before }: TextParts): PublishedText {
  const own = ownText(run, session.title)
  const titles = [before, deliver.title, own.title, session.title].map(title => titleLine(title ?? ''))
  const title = titles.find(each => each !== '') ?? 'Change'
  const footer = [...(issue === null ? [] : [`For #${issue}.`]), `From ${session.url}`].join('\n')
  const body = cutText(storable(own.body), limits.proseBytes - FOOTER_BYTES).text.trim()
  return { title, body: body === '' ? footer : `${body}\n\n${footer}` }
}

function ownText({ result, output }: TextParts['run'], otherwise: string): PublishedText {
  // The service has judged it by the schema.
  const value: unknown = output === null ? null : JSON.parse(output)
  const title = textAt(value, 'title')
  if (title !== null) return { title, body: textAt(value, 'body') ?? '' }
  return pullRequestDraft(result?.summary ?? '', otherwise)
}
