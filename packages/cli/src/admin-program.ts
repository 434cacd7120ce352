import { Argument, type Command, Option } from 'commander'
import type { BudgetOptions, QuotaOptions } from './commands/budget.ts'
import type { GrantOptions } from './commands/grants.ts'
import type { UsageOptions } from './commands/usage.ts'
import type { AdminIo } from './io.ts'
import { amount, collect, count } from './option-values.ts'

const io: AdminIo = { env: process.env, print: line => void process.stdout.write(`${line}\n`) }

/** What operators do, on the machine of the service: it needs the service's settings, and no key. */
export function addAdmin(program: Command): void {
  const admin = program.command('admin').description("look after a deployment, with the service's own settings")
  addSpending(admin)
  addGrants(admin.command('grant').description('repositories of Git hosts that installations may use'))
  addRules(admin.command('rule').description('branches of the data directory that are protected'))
  addChecks(admin.command('check').description('checks of commits of the data directory'))
}

function addSpending(admin: Command): void {
  admin
    .command('usage')
    .description('show what the models were used for')
    .addOption(
      new Option('--by <what>', 'what to add up by')
        .choices(['model', 'provider', 'organization', 'key', 'run', 'day'])
        .default('model'),
    )
    .option('--days <count>', 'how far back', count, 30)
    .option('--json', 'print JSON, one group a line')
    .action(async (options: UsageOptions) => {
      const { usage } = await import('./commands/usage.ts')
      await usage(options, io)
    })
  admin
    .command('budget')
    .description("bound each run of an organization; what is left out is the deployment's bound again")
    .argument('<organization>')
    .option('--cost-usd <dollars>', 'spent on models', amount)
    .option('--turns <count>', "turns of the agent's own loop", amount)
    .option('--seconds <count>', 'of work, without waiting for people', amount)
    .action(async (organizationId: string, options: BudgetOptions) => {
      const { setBudget } = await import('./commands/budget.ts')
      await setBudget(organizationId, options, io)
    })
  admin
    .command('quota')
    .description('bound what an organization, or one of its keys, spends on models')
    .argument('<organization>')
    .requiredOption('--usd <dollars>', 'US dollars, or none', text => (text === 'none' ? null : amount(text)))
    .addOption(new Option('--per <period>', 'of UTC').choices(['day', 'month', 'total']).default('month'))
    .option('--key <id>', 'one key instead of the whole organization')
    .action(async (organizationId: string, options: QuotaOptions) => {
      const { setQuota } = await import('./commands/budget.ts')
      await setQuota(organizationId, options, io)
    })
}

function addGrants(grant: Command): void {
  grant
    .command('add')
    .description('let an installation use an account of a Git host, whole unless --repository names what of it')
    .argument('<installation>', 'of Berth, as GET /v1/me tells it')
    .option('--account <id>', "at a GitHub the id of the App's installation, the last part of its page's address")
    .option('--host <id>', 'such as github:github.com, or local (default: the one that the configuration names)')
    .option('--repository <owner/name>', 'only this one; may be given again', collect)
    .option('--json', 'print the account as JSON')
    .action(async (installationId: string, options: GrantOptions) => {
      const { addGrant } = await import('./commands/grants.ts')
      await addGrant(installationId, options, io)
    })
  grant
    .command('list')
    .description('list accounts and the repositories that they grant')
    .argument('[installation]', 'default: all')
    .option('--all', 'also those that were revoked or replaced')
    .option('--json', 'print JSON, one account a line')
    .action(async (installationId: string | undefined, options: { all?: boolean; json?: boolean }) => {
      const { listGrants } = await import('./commands/grants.ts')
      await listGrants(installationId, options, io)
    })
  grant
    .command('revoke')
    .description('take back an account, or one repository')
    .argument('<id>', 'as grant list shows it')
    .action(async (id: string) => {
      const { revokeGrant } = await import('./commands/grants.ts')
      await revokeGrant(id, io)
    })
  grant
    .command('replace')
    .description('let sessions of one account or repository go on under another, as after an App was installed anew')
    .argument('<id>', 'what is replaced')
    .argument('<by>', 'what stands in for it')
    .action(async (id: string, by: string) => {
      const { replaceGrant } = await import('./commands/grants.ts')
      await replaceGrant(id, by, io)
    })
}

function addRules(rule: Command): void {
  rule
    .command('set')
    .description('protect a branch: no direct pushes, and pull requests into it need these checks')
    .argument('<owner/name>')
    .argument('<branch>')
    .option('--check <name>', 'must have succeeded; may be given again', collect, [])
    .action(async (repository: string, branch: string, options: { check: readonly string[] }) => {
      const { setRule } = await import('./commands/rules.ts')
      await setRule(repository, branch, options.check, io)
    })
  rule
    .command('list')
    .description('list them')
    .argument('<owner/name>')
    .option('--json', 'print JSON, one rule a line')
    .action(async (repository: string, options: { json?: boolean }) => {
      const { listRules } = await import('./commands/rules.ts')
      await listRules(repository, options, io)
    })
  rule
    .command('remove')
    .description('protect a branch no longer')
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
    .description('say how a check of a commit went, as a CI does; the last word counts')
    .argument('<owner/name>')
    .argument('<commit>', 'its whole id')
    .argument('<check>', 'name of the check')
    .addArgument(new Argument('<state>').choices(['pending', 'success', 'failure']))
    .action(async (repository: string, oid: string, name: string, state: string) => {
      const { recordCheck } = await import('./commands/rules.ts')
      await recordCheck(repository, { oid, name, state }, io)
    })
  check
    .command('list')
    .description('list what was said of a commit')
    .argument('<owner/name>')
    .argument('<commit>', 'its whole id')
    .option('--json', 'print JSON, one check a line')
    .action(async (repository: string, oid: string, options: { json?: boolean }) => {
      const { listChecks } = await import('./commands/rules.ts')
      await listChecks(repository, oid, options, io)
    })
}
