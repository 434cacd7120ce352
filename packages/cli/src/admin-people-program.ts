import { Argument, type Command, Option } from 'commander'
import type { AdminIo } from './io.ts'
import { collect, count } from './option-values.ts'

const json = ['--json', 'print JSON'] as const

/** Adds the operators' commands for organizations and people. None takes a password: people choose theirs by a link. */
export function addPeople(admin: Command, io: AdminIo): void {
  admin
    .command('bootstrap')
    .description('make the first organization of an empty deployment, and print the link for its administrator')
    .requiredOption('--email <email>', "the administrator's email")
    .requiredOption('--organization <name>', "the organization's name")
    .option('--name <name>', "the administrator's name (default: the beginning of the email)")
    .option(...json)
    .action(async options => (await import('./commands/people.ts')).bootstrap(options, io))
  addOrganizations(admin.command('organization').description('create, list, suspend and resume organizations'), io)
  addPersons(admin.command('person').description('invite people, disable them, and reset their passwords'), io)
  addMembers(admin.command('member').description('list, change and remove members of an organization'), io)
  admin
    .command('rate')
    .description('set how many requests each installation and member of an organization may send')
    .argument('<organization>')
    .option('--burst <count>', 'requests at once', count)
    .option('--per-minute <count>', 'requests a minute', count)
    .option('--default', "return to the deployment's rate")
    .option(...json)
    .action(async (id: string, options) => (await import('./commands/organizations.ts')).setRate(id, options, io))
}

function addOrganizations(organization: Command, io: AdminIo): void {
  const commands = () => import('./commands/organizations.ts')
  organization
    .command('create')
    .description('make an organization; invite its first administrator with person invite --role admin')
    .argument('<name>')
    .option(...json)
    .action(async (name: string, options) => (await commands()).createOrganization(name, options, io))
  organization
    .command('list')
    .description('list organizations')
    .option('--json', 'print JSON, one organization per line')
    .action(async options => (await commands()).listOrganizations(options, io))
  organization
    .command('suspend')
    .description('refuse every credential of an organization from its next request on')
    .argument('<id>')
    .option(...json)
    .action(async (id: string, options) => (await commands()).change(id, { suspended: true }, options, io))
  organization
    .command('resume')
    .description('end the suspension of an organization')
    .argument('<id>')
    .option(...json)
    .action(async (id: string, options) => (await commands()).change(id, { suspended: false }, options, io))
  organization
    .command('access')
    .description('give an organization svc.cloud.access, or take it')
    .argument('<id>')
    .addArgument(new Argument('<state>').choices(['on', 'off']))
    .option(...json)
    .action(async (id: string, state: string, options) =>
      (await commands()).change(id, { cloudAccess: state === 'on' }, options, io),
    )
}

function addPersons(person: Command, io: AdminIo): void {
  const commands = () => import('./commands/people.ts')
  person
    .command('invite')
    .description('print a link by which a person joins an organization')
    .argument('<organization>')
    .argument('<email>')
    .addOption(new Option('--role <role>', 'role of the member').choices(['member', 'admin']).default('member'))
    .option('--permission <name>', 'permission of the member; repeat for several', collect, [])
    .option(...json)
    .action(async (organization: string, email: string, options) =>
      (await commands()).invite(organization, email, options, io),
    )
  person
    .command('disable')
    .description('refuse every credential of a person from the next request on')
    .argument('<email>')
    .option(...json)
    .action(async (email: string, options) => (await commands()).setEnabled(email, false, options, io))
  person
    .command('enable')
    .description('let a disabled person sign in again')
    .argument('<email>')
    .option(...json)
    .action(async (email: string, options) => (await commands()).setEnabled(email, true, options, io))
  person
    .command('reset')
    .description('print a link by which a person chooses a new password')
    .argument('<email>')
    .option('--second-factor', 'also remove the second factor, and end every sign-in')
    .option(...json)
    .action(async (email: string, options) => (await commands()).reset(email, options, io))
}

function addMembers(member: Command, io: AdminIo): void {
  const commands = () => import('./commands/people.ts')
  member
    .command('list')
    .description('list the members of an organization, with the ids that role, permissions and remove take')
    .argument('<organization>')
    .option('--json', 'print JSON, one member per line')
    .action(async (organization: string, options) => (await commands()).listMembers(organization, options, io))
  member
    .command('role')
    .description('give a member another role')
    .argument('<member>', 'id of the membership')
    .addArgument(new Argument('<role>').choices(['member', 'admin']))
    .option(...json)
    .action(async (id: string, role: string, options) => (await commands()).changeMember(id, { role }, options, io))
  member
    .command('permissions')
    .description('set what a member may administer beside the role; none named takes all')
    .argument('<member>', 'id of the membership')
    .argument('[permissions...]')
    .option(...json)
    .action(async (id: string, permissions: string[], options) =>
      (await commands()).changeMember(id, { permissions }, options, io),
    )
  member
    .command('remove')
    .description('end a membership; its credentials are refused from the next request on')
    .argument('<member>', 'id of the membership')
    .option(...json)
    .action(async (id: string, options) => (await commands()).removeMember(id, options, io))
}
