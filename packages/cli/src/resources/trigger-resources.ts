import type { ResourceArgument, ResourceCommand, ResourceGroup } from './resource.ts'

const trigger: ResourceArgument = { shown: '<trigger>', to: 'triggerId' }

/** Groups of commands on triggers. */
export const triggerGroups: readonly ResourceGroup[] = [
  { name: 'triggers', does: 'manage what starts sessions by a schedule or from another system' },
  { name: 'deliveries', does: 'see what triggers were sent, and send them something' },
]

/** Commands on triggers: each calls one operation. */
export const triggerResources: readonly ResourceCommand[] = [
  {
    path: 'triggers list',
    does: 'list triggers',
    operation: 'listTriggers',
    view: {
      kind: 'list',
      items: 'triggers',
      columns: {
        TRIGGER: 'id',
        ON: 'enabled',
        CRON: 'schedule.cron',
        HOOK: 'hook.scheme',
        NEXT: 'nextAt',
        NAME: 'name',
      },
    },
    examples: ['', '--fields name,hook.url'],
  },
  {
    path: 'triggers show',
    does: 'show a trigger, with the address that other systems post to',
    operation: 'getTrigger',
    args: [trigger],
    view: { kind: 'thing', member: 'trigger' },
    examples: ['$TRIGGER', '$TRIGGER --json | jq -r .hook.url'],
  },
  {
    path: 'triggers put',
    does: 'create a trigger, or replace one, by a file as putTrigger takes it',
    operation: 'putTrigger',
    args: [{ shown: '[trigger]', to: 'triggerId', does: 'its id; a new one if absent' }],
    options: [
      { flags: '--file <path>', does: 'file of JSON; - is standard input', to: 'body', required: true, as: 'json' },
    ],
    view: { kind: 'thing', member: 'trigger' },
    examples: ['--file trigger.json', '$TRIGGER --file trigger.json'],
  },
  {
    path: 'triggers delete',
    does: 'delete a trigger; its sessions stay',
    operation: 'deleteTrigger',
    args: [trigger],
    view: { kind: 'done', says: 'deleted trigger {triggerId}' },
    examples: ['$TRIGGER'],
  },
  {
    path: 'triggers secret',
    does: 'replace the secret that other systems sign with, and print it this once',
    operation: 'replaceTriggerSecret',
    args: [trigger],
    options: [
      { flags: '--secret <secret>', does: 'the one that the other system has chosen', to: 'body.secret' },
      {
        flags: '--overlap <seconds>',
        does: 'how long the one before is good as well (default: a day)',
        to: 'body.overlapSeconds',
        as: 'seconds',
      },
    ],
    mayBeEmpty: true,
    view: { kind: 'thing' },
    examples: ['$TRIGGER', '$TRIGGER --overlap 3600 --json | jq -r .secret'],
  },
  {
    path: 'deliveries list',
    does: 'list the latest deliveries of a trigger, and how each has ended',
    operation: 'listTriggerDeliveries',
    args: [trigger],
    view: {
      kind: 'list',
      items: 'deliveries',
      columns: { KEY: 'key', STATUS: 'status', ERROR: 'errorCode', SESSION: 'sessionId', AT: 'createdAt' },
    },
    examples: ['$TRIGGER'],
  },
  {
    path: 'deliveries send',
    does: 'fire a trigger; the same key again makes nothing new; for API keys',
    operation: 'putTriggerDelivery',
    args: [trigger, { shown: '<key>', to: 'key', does: 'what tells this delivery from others' }],
    options: [
      {
        flags: '--payload <path>',
        does: 'file of JSON with the fields of the message; - is standard input',
        to: 'body.payload',
        as: 'json',
      },
    ],
    mayBeEmpty: true,
    view: { kind: 'thing', member: 'delivery' },
    examples: ['$TRIGGER issue-7-opened --payload issue.json'],
  },
]
