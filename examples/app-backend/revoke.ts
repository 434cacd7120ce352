/** Revokes the installation, as a person of the organization does who wants the app no longer. */
import { readFile } from 'node:fs/promises'
import { installationFile } from './app.ts'
import { signIn } from './sign-in.ts'

const { installationId } = JSON.parse(await readFile(installationFile, 'utf8'))
const call = await signIn()
const answer = await call('DELETE', `/api/installations/${installationId}`)
if (!answer.ok) throw new Error(`the installation was not revoked: ${await answer.text()}`)
console.info(`revoked ${installationId}`)
