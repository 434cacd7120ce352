/** The service and its people, for the tests of other packages. */
export { hashPassword } from '../../src/accounts/people/password.ts'
export { Browser, type Shown } from './accounts/browser.ts'
export { signInPerson } from './accounts/signer.ts'
export { startTestService, type TestService } from './services/service.ts'
