import { deriveResource } from '../../packages/cli/src/resources/derive-resource.ts'
import { organizationResources } from '../../packages/cli/src/resources/organization-resources.ts'
import { oversightResources } from '../../packages/cli/src/resources/oversight-resources.ts'
import { triggerResources } from '../../packages/cli/src/resources/trigger-resources.ts'
import { workResources } from '../../packages/cli/src/resources/work-resources.ts'

/** Commands that do more than call one operation, by the operation that they are for. */
const others: Readonly<Record<string, string>> = {
  createSession: "run 'Fix the flaky login test'",
  submitTurn: 'attach <session>',
  cancelRun: 'cancel <session>',
  resetSession: 'reset <session>',
  forkSession: 'fork <session>',
  listSessions: 'sessions list',
  listEvents: 'events <session>',
  digestEvents: 'verify --log <session>',
  streamEvents: 'events <session> --follow',
  listRuntimes: 'runtimes list',
  getSessionEgress: 'egress <session>',
  listInteractions: 'interactions <session>',
  decideInteraction: 'approve <session>',
  reviewRepository: 'review <session>',
  createPublication: 'publish <session>',
  createMerge: 'merge <session>',
  listStatements: 'verify <commit>',
  getStatement: 'verify <commit>',
}

/** Returns the module that tells the API reference which command calls which operation. */
export function renderReferenceCommands(): string {
  const rows = Object.entries({
    ...workResources,
    ...organizationResources,
    ...oversightResources,
    ...triggerResources,
  }).map(([path, row]) => {
    const shown = deriveResource(path, row).args.map(argument => argument.shown)
    return [row.operation, [path, ...shown].join(' ')] as const
  })
  const all = Object.entries({ ...Object.fromEntries(rows), ...others }).sort(([a], [b]) => (a < b ? -1 : 1))
  const quote = (text: string) => (text.includes("'") ? `"${text}"` : `'${text}'`)
  const lines = all.map(([operation, command]) => `  ${operation}: ${quote(command)},`)
  return `/** Commands of \`berth\` by the operation that they call. Made by \`node script/docs.ts\`. */
export const commands: Readonly<Record<string, string>> = {
${lines.join('\n')}
}
`
}
