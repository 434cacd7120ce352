import { Argument, type Command, Option } from 'commander'
import { addPeople } from './admin-people-program.ts'
import type { BudgetOptions, QuotaOptions } from './commands/budget.ts'
import type { GrantOptions } from './commands/grants.ts'
import type { UsageOptions } from './commands/usage.ts'
import type { AdminIo } from './io.ts'
import { amount, collect, count, dollars } from './option-values.ts'

const io: AdminIo = { env: process.env, print: line => void process.stdout.write(`${line}\n`) }

/** Adds the operators' commands; they run on the service's machine, with its settings and without an API key. */
export function addAdmin(program: Command): void {
  const admin = program
    .command('admin')
    .description("administer a deployment; run it on the service's machine, with the service's settings")
  addPeople(admin, io)
  addSpending(admin)
  addGrants(admin.command('grant').description('control which repositories an installation or organization may use'))
  addRules(admin.command('rule').description('protect branches of the repositories in the data directory'))
  addStatementKeys(admin.command('statement-key').description('list and revoke the keys that sign statements'))
  addChecks(admin.command('check').description('record and list checks of commits in the data directory'))
}

function addSpending(admin: Command): void {
  admin
    .command('usage')
    .description('report model requests, tokens and cost')
    .addOption(
      new Option('--by <field>', 'group by this field')
        .choices(['model', 'provider', 'organization', 'installation', 'person', 'end-user', 'key', 'run', 'day'])
        .default('model'),
    )
    .option('--days <count>', 'report on this many days up to now', count, 30)
    .option('--json', 'print JSON, one group per line')
    .action(async (options: UsageOptions) => {
      const { usage } = await import('./commands/usage.ts')
      await usage(options, io)
    })
  admin
    .command('budget')
    .description('set the limits of each run of an organization; a limit left out returns to the default')
    .argument('<organization>')
    .option('--cost-usd <dollars>', 'cost of models, in US dollars', amount)
    .option('--turns <count>', "turns of the agent's own loop", amount)
    .option('--seconds <count>', 'working time, without waiting for people', amount)
    .action(async (organizationId: string, options: BudgetOptions) => {
      const { setBudget } = await import('./commands/budget.ts')
      await setBudget(organizationId, options, io)
    })
  admin
    .command('quota')
    .description('limit the spending of an organization, or of one of its keys, people or installations, on models')
    .argument('<organization>')
    .requiredOption('--usd <dollars>', 'limit in US dollars; none removes it', dollars)
    .addOption(
      new Option('--per <period>', 'period that the limit applies to, in UTC')
        .choices(['day', 'month', 'total'])
        .default('month'),
    )
    .option('--key <id>', 'limit this key instead of the whole organization')
    .option('--person <id>', 'limit this member instead')
    .option('--installation <id>', 'limit this installation instead')
    .addOption(
      new Option(
        '--on-reached <what>',
        'let runs wait for people, or refuse them (default: as it is, and refuse at first)',
      ).choices(['pause', 'refuse']),
    )
    .action(async (organizationId: string, options: QuotaOptions) => {
      const { setQuota } = await import('./commands/budget.ts')
      await setQuota(organizationId, options, io)
    })
}

function addGrants(grant: Command): void {
  grant
    .command('add')
    .description('let an installation or an organization use the repositories of an account on a Git host')
    .argument('[installation]', 'id of the installation (or --organization)')
    .option('--organization <id>', "let the organization's people use them")
    .option('--account <id>', "on GitHub, the id of the App's installation: the last part of its settings URL")
    .option('--host <id>', 'such as github:github.com or local (default: the configured host, if there is one)')
    .option('--repository <owner/name>', 'grant only this repository; repeat for several (default: all)', collect)
    .option('--json', 'print the account as JSON')
    .action(async (installationId: string | undefined, options: GrantOptions) => {
      const { addGrant } = await import('./commands/grants.ts')
      await addGrant(installationId, options, io)
    })
  grant
    .command('list')
    .description('list granted accounts and their repositories')
    .argument('[installation]', 'list only this installation (default: all)')
    .option('--all', 'include revoked and replaced grants')
    .option('--json', 'print JSON, one account per line')
    .action(async (installationId: string | undefined, options: { all?: boolean; json?: boolean }) => {
      const { listGrants } = await import('./commands/grants.ts')
      await listGrants(installationId, options, io)
    })
  grant
    .command('revoke')
    .description('revoke an account, or one repository')
    .argument('<id>', 'id of the account or repository, from grant list')
    .action(async (id: string) => {
      const { revokeGrant } = await import('./commands/grants.ts')
      await revokeGrant(id, io)
    })
  grant
    .command('replace')
    .description('move sessions to another account or repository, for example after reinstalling the App')
    .argument('<id>', 'id of the old account or repository')
    .argument('<by>', 'id of the new account or repository')
    .action(async (id: string, by: string) => {
      const { replaceGrant } = await import('./commands/grants.ts')
      await replaceGrant(id, by, io)
    })
}

function addStatementKeys(key: Command): void {
  key
    .command('list')
    .description('list the keys, oldest first: which one signs, those before it, and the next')
    .option('--json', 'print JSON, one key per line')
    .action(async (options: { json?: boolean }) => {
      const { listStatementKeys } = await import('./commands/statement-keys.ts')
      await listStatementKeys(options, io)
    })
  key
    .command('revoke')
    .description('take a key back that others may have: nothing that it has ever signed counts any more')
    .argument('<kid>', 'id of the key, from statement-key list')
    .action(async (kid: string) => {
      const { revokeStatementKey } = await import('./commands/statement-keys.ts')
      await revokeStatementKey(kid, io)
    })
}

function addRules(rule: Command): void {
  rule
    .command('set')
    .description('protect a branch: refuse direct pushes, and require these checks before a merge')
    .argument('<owner/name>')
    .argument('<branch>')
    .option('--check <name>', 'require this check; repeat for several', collect, [])
    .action(async (repository: string, branch: string, options: { check: readonly string[] }) => {
      const { setRule } = await import('./commands/rules.ts')
      await setRule(repository, branch, options.check, io)
    })
  rule
    .command('list')
    .description('list the protected branches of a repository')
    .argument('<owner/name>')
    .option('--json', 'print JSON, one rule per line')
    .action(async (repository: string, options: { json?: boolean }) => {
      const { listRules } = await import('./commands/rules.ts')
      await listRules(repository, options, io)
    })
  rule
    .command('remove')
    .description('stop protecting a branch')
    .argument('<owner/name>')
    .argument('<branch>')
    .action(async (repository: string, branch: string) => {
      const { setRule } = await import('./commands/rules.ts')
      await setRule(repository, branch, null, io)
    })
}

function addChecks(check: Command): void {
  check
    .command('record')
    .description('record the result of a check, as a CI system would; the last result counts')
    .argument('<owner/name>')
    .argument('<commit>', 'full commit id')
    .argument('<check>', 'name of the check')
    .addArgument(new Argument('<state>').choices(['pending', 'success', 'failure']))
    .option('--output <file>', 'file with what the check printed; its last 64 KiB are kept')
    .action(async (repository: string, oid: string, name: string, state: string, options: { output?: string }) => {
      const { recordCheck } = await import('./commands/rules.ts')
      await recordCheck(repository, { oid, name, state }, options, io)
    })
  check
    .command('list')
    .description('list the recorded checks of a commit')
    .argument('<owner/name>')
    .argument('<commit>', 'full commit id')
    .option('--json', 'print JSON, one check per line')
    .action(async (repository: string, oid: string, options: { json?: boolean }) => {
      const { listChecks } = await import('./commands/rules.ts')
      await listChecks(repository, oid, options, io)
    })
}
