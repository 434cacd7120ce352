import type { ResourceGroup, ResourceRow } from './resource.ts'

/** Groups of commands on triggers. */
export const triggerGroups: readonly ResourceGroup[] = [
  { name: 'triggers', does: 'manage what starts sessions by a schedule or from another system' },
  { name: 'deliveries', does: 'see what triggers were sent, and send them something' },
]

/** Commands on triggers: each calls one operation. */
export const triggerResources: Readonly<Record<string, ResourceRow>> = {
  'triggers list': {
    operation: 'listTriggers',
    items: 'triggers',
    does: 'list triggers',
    columns: { TRIGGER: 'id', ON: 'enabled', CRON: 'schedule.cron', HOOK: 'hook.scheme', NEXT: 'nextAt', NAME: 'name' },
    examples: ['', '--fields name,hook.url'],
  },
  'triggers show': {
    operation: 'getTrigger',
    member: 'trigger',
    does: 'show a trigger, with the address that other systems post to',
    examples: ['$TRIGGER', '$TRIGGER --json | jq -r .hook.url'],
  },
  'triggers put': {
    operation: 'putTrigger',
    member: 'trigger',
    does: 'create a trigger, or replace one, by a file as putTrigger takes it',
    options: [
      { flags: '--file <path>', does: 'file of JSON; - is standard input', to: 'body', required: true, as: 'json' },
    ],
    examples: ['--file trigger.json', '$TRIGGER --file trigger.json'],
  },
  'triggers delete': { operation: 'deleteTrigger', does: 'delete a trigger; its sessions stay', done: 'deleted' },
  'triggers secret': {
    operation: 'replaceTriggerSecret',
    does: 'replace the secret that other systems sign with, and print it this once',
    options: [
      { flags: '--secret <secret>', does: 'the one that the other system has chosen' },
      {
        flags: '--overlap <seconds>',
        does: 'how long the one before is good as well (default: a day)',
        to: 'body.overlapSeconds',
        as: 'seconds',
      },
    ],
    mayBeEmpty: true,
    examples: ['$TRIGGER', '$TRIGGER --overlap 3600 --json | jq -r .secret'],
  },
  'deliveries list': {
    operation: 'listTriggerDeliveries',
    items: 'deliveries',
    does: 'list the latest deliveries of a trigger, and how each has ended',
    columns: {
      KEY: 'key',
      STATUS: 'status',
      ERROR: 'errorCode',
      PUBLISHED: 'publication.state',
      FAULT: 'publication.errorCode',
      PULL: 'publication.pullRequest.url',
      SESSION: 'sessionId',
      AT: 'createdAt',
    },
  },
  'deliveries send': {
    operation: 'putTriggerDelivery',
    member: 'delivery',
    does: 'fire a trigger; the same key again makes nothing new; for API keys',
    options: [
      {
        flags: '--payload <path>',
        does: 'file of JSON with the fields of the message; - is standard input',
        as: 'json',
      },
    ],
    mayBeEmpty: true,
    examples: ['$TRIGGER issue-7-opened --payload issue.json'],
  },
}
