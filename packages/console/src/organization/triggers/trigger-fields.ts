import type { PutTrigger, Trigger } from '@berth/contract'
import type { Faults } from '../kept-form.ts'
import { type Sender, senderOf } from './trigger-labels.ts'

/** A trigger as its form holds it. */
export interface TriggerFields {
  readonly name: string
  readonly installation: string
  readonly message: string
  readonly sender: Sender
  readonly on: readonly string[]
  readonly mention: string
  readonly label: string
  /** `owner/name`, one a line; none: all that are granted. */
  readonly repositories: string
  readonly forks: boolean
  readonly cron: string
  readonly timeZone: string
  /** US dollars that each of its Sessions may spend on models; empty for no bound. */
  readonly budget: string
}

type GitHub = NonNullable<NonNullable<PutTrigger['hook']>['github']>

const usualMessage =
  '{{event.actor}} asks by a {{event.kind}} on {{event.repository}}, {{event.title}} ({{event.url}}):\n\n{{event.text}}'

/** Returns the fields of a new trigger. */
export const newFields = (installation: string): TriggerFields => ({
  name: '',
  installation,
  message: usualMessage,
  sender: 'events',
  on: ['comment', 'label'],
  mention: '@berth',
  label: 'berth',
  repositories: '',
  forks: false,
  cron: '',
  timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  budget: '',
})

/** Returns the fields of a trigger. */
export function fieldsOf(trigger: Trigger): TriggerFields {
  const fresh = newFields(trigger.installationId)
  const github = trigger.hook?.github as GitHub | undefined
  return {
    ...fresh,
    name: trigger.name,
    message: trigger.message,
    sender: senderOf(trigger),
    on: github?.on ?? fresh.on,
    mention: github?.mention ?? fresh.mention,
    label: github?.label ?? fresh.label,
    repositories: (github?.repositories ?? []).join('\n'),
    forks: github?.forks === 'base',
    cron: trigger.schedule?.cron ?? '',
    timeZone: trigger.schedule?.timeZone ?? fresh.timeZone,
    budget: String(trigger.session.budget?.costUsd ?? ''),
  }
}

/** Returns the faults of the fields. The service judges the schedule and the message. */
export function triggerFaults(fields: TriggerFields): Faults<TriggerFields> {
  const { name, installation, message, sender, on, mention, repositories, budget } = fields
  const events = sender === 'events'
  return {
    name: name.trim() === '' ? 'Enter a name.' : undefined,
    installation: installation === '' ? 'Make an integration first: the Sessions of a trigger are its own.' : undefined,
    message: message.trim() === '' ? 'Enter a message.' : undefined,
    on: events && on.length === 0 ? 'Choose at least one kind of event.' : undefined,
    mention: events && /\s/.test(mention.trim()) ? 'A mention has no spaces.' : undefined,
    budget: budget.trim() === '' || Number(budget) >= 0.01 ? undefined : 'Enter an amount from 0.01 on, or nothing.',
    repositories:
      events && linesOf(repositories).some(line => !/^[^/\s]+\/[^/\s]+$/.test(line))
        ? 'Write each repository as owner/name, one a line.'
        : undefined,
  }
}

/**
 * Returns the trigger that the fields describe.
 * @param before the trigger that it replaces, which keeps the members that the form does not show
 */
export function toBody(fields: TriggerFields, before?: Trigger): PutTrigger {
  const { name, installation, message, sender, cron, timeZone, budget } = fields
  const same = before !== undefined && senderOf(before) === sender ? before : undefined
  // The Session of an event is told its repository, and its conversation.
  const { source, budget: _, ...session } = before?.session ?? {}
  const events = sender === 'events'
  return {
    installationId: installation,
    name: name.trim(),
    message,
    session: {
      ...session,
      ...(budget.trim() !== '' && { budget: { costUsd: Number(budget) } }),
      ...(!events && source !== undefined && { source }),
    },
    ...(cron.trim() !== '' && {
      schedule: { cron: cron.trim(), ...(timeZone.trim() !== '' && { timeZone: timeZone.trim() }) },
    }),
    ...(!events && before?.thread !== undefined && { thread: before.thread }),
    ...(before?.deliver !== undefined && { deliver: before.deliver }),
    ...(sender !== 'none' && { hook: hookOf(fields, sender, same?.hook) }),
    enabled: before?.enabled ?? true,
  }
}

function hookOf(
  fields: TriggerFields,
  sender: Exclude<Sender, 'none'>,
  before: Trigger['hook'],
): NonNullable<PutTrigger['hook']> {
  const where =
    before?.where === undefined ? {} : { where: before.where as NonNullable<PutTrigger['hook']>['where'] & {} }
  if (sender !== 'events') return { scheme: sender, ...(before?.key !== undefined && { key: before.key }), ...where }
  const { on, mention, label, repositories, forks } = fields
  const named = linesOf(repositories)
  const { assignee } = (before?.github as GitHub | undefined) ?? {}
  const github = {
    on: [...on] as GitHub['on'],
    ...(mention.trim() !== '' && { mention: mention.trim() }),
    ...(label.trim() !== '' && { label: label.trim() }),
    ...(named.length > 0 && { repositories: named }),
    ...(forks && { forks: 'base' as const }),
    ...(assignee !== undefined && { assignee }),
  }
  return { scheme: 'github', github, ...where }
}

const linesOf = (text: string): string[] =>
  text
    .split(/[\n,]/)
    .map(line => line.trim())
    .filter(line => line !== '')
