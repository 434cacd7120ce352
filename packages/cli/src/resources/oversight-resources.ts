import type { ResourceGroup, ResourceRow } from './resource.ts'

const whose = { flags: '--whose <who>', does: 'whose use', choices: ['me', 'organization'] } as const
const usageOptions = [
  {
    flags: '--by <field>',
    does: 'group by this field',
    choices: ['day', 'model', 'person', 'repository', 'trigger', 'session'],
    standard: 'model',
  },
  whose,
  { flags: '--from <day>', does: 'first day, as 2026-11-01' },
  { flags: '--to <day>', does: 'last day' },
] as const

/** Groups of commands on an organization's limits, costs and machines. */
export const oversightGroups: readonly ResourceGroup[] = [
  { name: 'policy', does: 'see and set what no environment may reach, and which secrets only some may use' },
  { name: 'budgets', does: 'see and set what the organization, its people and its installations may spend on models' },
  { name: 'models', does: 'list models with their prices' },
  { name: 'usage', does: 'report what models cost' },
  { name: 'audit', does: 'read the audit log' },
  { name: 'health', does: 'see how the deployment does' },
  { name: 'compute', does: 'see and set which machines the organization runs on, and bring machines of its own' },
]

/** Commands on limits, costs and machines: each calls one operation. Those without another remark are for people. */
export const oversightResources: Readonly<Record<string, ResourceRow>> = {
  'policy show': {
    operation: 'getOrganizationSettings',
    member: 'egress',
    does: 'show the hosts that no environment names, and the environments that may use a secret; for administrators',
    examples: ['--json > policy.json'],
  },
  'policy set': {
    operation: 'updateOrganizationSettings',
    member: 'egress',
    does: 'set them, for sandboxes that are made from then on; for administrators',
    options: [
      {
        flags: '--file <path>',
        does: 'file of JSON as show prints it, or - for standard input; a member that it lacks stays',
        to: 'body.egress',
        required: true,
        as: 'json',
      },
    ],
    examples: ['--file policy.json'],
  },
  'budgets list': {
    operation: 'getOrganizationSettings',
    items: 'budgets',
    does: 'list budgets, and what is spent of them; for administrators',
    columns: {
      OF: 'scope',
      NAME: 'name',
      PER: 'period',
      SPENT: 'spentUsd',
      LIMIT: 'limitUsd',
      REACHED: 'onReached',
      'SET BY': 'setBy',
    },
  },
  'budgets set': {
    operation: 'updateOrganizationSettings',
    does: 'set a budget of the organization, or of one of its people or installations; for administrators',
    options: [
      { flags: '--usd <dollars>', does: 'limit in US dollars; none removes it', to: 'body.budget.limitUsd', as: 'usd' },
      {
        flags: '--per <period>',
        does: 'period that it applies to, in UTC',
        to: 'body.budget.period',
        choices: ['day', 'month'],
        standard: 'month',
      },
      { flags: '--person <id>', does: 'of this member alone', to: 'body.budget.personId' },
      { flags: '--installation <id>', does: 'of this installation alone', to: 'body.budget.installationId' },
      {
        flags: '--on-reached <what>',
        does: 'let runs wait for people, or refuse them',
        to: 'body.budget.onReached',
        choices: ['pause', 'refuse'],
      },
    ],
    columns: { OF: 'scope', NAME: 'name', PER: 'period', SPENT: 'spentUsd', LIMIT: 'limitUsd', REACHED: 'onReached' },
    items: 'budgets',
    examples: ['--usd 200 --on-reached pause', '--usd 5 --per day --person $PERSON', '--usd none'],
  },
  'models list': {
    operation: 'listPricedModels',
    does: 'list the models of the deployment with their prices; for people',
    items: 'models',
    columns: { MODEL: 'id', PROVIDER: 'provider', ALLOWED: 'allowed', INPUT: 'price.input', OUTPUT: 'price.output' },
  },
  'usage show': {
    operation: 'getUsage',
    does: "report your own use of models, or the organization's",
    options: usageOptions,
    items: 'groups',
    columns: {
      KIND: 'kind',
      NAME: 'name',
      REQUESTS: 'requests',
      INPUT: 'inputTokens',
      CACHED: 'cachedInputTokens',
      WRITTEN: 'cacheWriteTokens',
      OUTPUT: 'outputTokens',
      USD: 'costUsd',
    },
    examples: ['--by day', '--by person --whose organization --fields name,costUsd'],
  },
  'usage export': {
    operation: 'exportUsage',
    does: 'write the same for each day as CSV to standard output, or to --output',
    options: usageOptions,
    examples: ['--by session --output usage.csv'],
  },
  'usage forecast': {
    operation: 'getUsage',
    member: 'forecast',
    does: 'show what the month has cost, and a forecast of its end by the mean of the last seven days',
    options: [whose],
  },
  'audit list': {
    operation: 'readAudit',
    does: 'list the audit log, newest first; for administrators',
    options: [
      { flags: '--actor <id>', does: 'only what this actor did' },
      { flags: '--action <name>', does: 'only this action' },
      { flags: '--target <id>', does: 'only what concerns this' },
      { flags: '--from <time>', does: 'from this time on, as 2026-11-01T00:00:00Z' },
      { flags: '--to <time>', does: 'up to this time' },
    ],
    columns: { AT: 'at', ACTOR: 'actor.name', ACTION: 'action', OUTCOME: 'outcome', TARGET: 'targetName' },
    examples: ['--limit 20', '--action session.archive --fields at,actor.name'],
  },
  'health show': {
    operation: 'getHealth',
    does: 'show hosts, runs and backlogs of the deployment; for administrators',
    examples: ['', "--json | jq '.hosts[] | {name, away}'"],
  },
  'compute show': {
    operation: 'getCompute',
    does: 'show what the organization may run on, and its own machines; for administrators',
    examples: ['', "--json | jq '.hosts[] | {name, state}'"],
  },
  'compute edit': {
    operation: 'updateCompute',
    does: 'set whether the organization runs on its own machines alone; for administrators',
    options: [
      {
        flags: '--runs-on <hosts>',
        does: 'where sessions get sandboxes',
        choices: ['any_host', 'own_hosts'],
        required: true,
      },
    ],
    examples: ['--runs-on own_hosts'],
  },
  'compute admit': {
    operation: 'admitHost',
    does: 'admit a machine of the organization, and print its token for `berth host` this once; for administrators',
    args: [{ shown: '<name>', to: 'body.name' }],
    options: [
      { flags: '--pool <name>', does: 'pool of the machine (default: default)' },
      {
        flags: '--capacity <count>',
        does: 'sandboxes that it may offer at most (default: as many as it says)',
        as: 'count',
      },
      {
        flags: '--label <name=value>',
        does: 'label of the machine, whatever it says; repeat it for more',
        to: 'body.labels',
        as: 'list',
      },
    ],
    examples: ['rack-1 --capacity 8', 'rack-1 --label disk=nvme --json | jq -r .token'],
  },
  'compute mark': {
    operation: 'markHost',
    member: 'host',
    does: 'cordon, drain or open a machine of the organization; for administrators',
    options: [
      {
        flags: '--as <mark>',
        does: 'cordoned: no more sandboxes; drained: those that rest are also given back',
        to: 'body.mark',
        choices: ['open', 'cordoned', 'drained'],
        required: true,
      },
    ],
    examples: ['$HOST --as drained'],
  },
  'compute lost': {
    operation: 'loseHost',
    member: 'host',
    does: 'declare that a silent machine of the organization is gone for good, so that its sessions go on elsewhere; for administrators',
  },
  'compute remove': {
    operation: 'removeHost',
    does: 'remove a machine of the organization, which must hold no sandboxes; for administrators',
    done: 'removed',
  },
}
