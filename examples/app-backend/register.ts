/** Creates the app and registers its key. A publisher does it once, as a person; a backend cannot. */
import { generateKeyPairSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { appSlug, keyFile } from './app.ts'
import { signIn } from './sign-in.ts'

const call = await signIn()

const created = await call('POST', '/api/apps', { slug: appSlug, name: 'My app' })
// After a 409 the app may be yours already. If it is somebody else's, the registration answers 404.
if (!created.ok && created.status !== 409) throw new Error(`the app was not created: ${await created.text()}`)

// The private half stays in this folder; only the public half leaves it.
const { publicKey, privateKey } = generateKeyPairSync('ed25519')
await writeFile(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600, flag: 'wx' })
const publicKeyPem = publicKey.export({ type: 'spki', format: 'pem' })
const registered = await call('POST', `/api/apps/${appSlug}/keys`, { publicKeyPem })
if (!registered.ok) throw new Error(`the key was not registered: ${await registered.text()}`)
const { kid } = Object(await registered.json())
console.info(`${appSlug} has the key ${kid}; its private half is in ${keyFile}`)
