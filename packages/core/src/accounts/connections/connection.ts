import type { Connection } from '@berth/contract'
import type { GrantedAccount } from '../../repositories/granted-accounts.ts'

/** Returns an account of a Git host as the API names it. */
export const toAccount = ({ host, provider, account, accountLogin }: GrantedAccount) => ({
  host,
  provider,
  account,
  accountLogin,
})

/** Returns a connection of an organization as the API shows it. */
export const toConnection = (account: GrantedAccount): Connection => ({
  id: account.id,
  ...toAccount(account),
  allRepositories: account.whole,
  personalAccess: account.personal,
  repositories: account.repositories
    .filter(({ status }) => status === 'active')
    .map(({ grantId, repositoryId, fullName }) => ({ grantId, repositoryId, fullName })),
})
