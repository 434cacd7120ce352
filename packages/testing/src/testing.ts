/** The service and its people, for the tests of other packages. */

export { hashPassword } from '@berth/core/accounts/people/password.ts'
export { addGrant } from '@berth/server/admin/grants.ts'
export { Browser, type Shown } from './accounts/browser.ts'
export { signInPerson } from './accounts/signer.ts'
export { scriptedRuntimes } from './agents/scripted-runtimes.ts'
export { LogWriter } from './events/log-writer.ts'
export { sampleRepository } from './git/repositories.ts'
export { databaseUrl, startTestService, type TestService } from './services/service.ts'
export { until } from './until.ts'
export { Receiver } from './webhooks/receiver.ts'
export { ScriptedNetwork } from './webhooks/scripted-network.ts'
