import { html } from '../pages/html.ts'
import { type Page, plainPage } from '../pages/layout.ts'
import type { Refusal } from './person-of.ts'

/** The page of an answer that this browser did not ask for. */
export const overPage = plainPage(
  'This sign-in is over',
  'It has ended, or was started in another browser. Start again from the page that asked you to sign in.',
)

/** The page of a provider that does not answer, or not as it should. */
export const awayPage = (name: string, returnTo: string): Page => ({
  title: `${name} does not answer`,
  content: html`<p>It may be down or slow. Try again in a moment.</p>
<p><a href="${returnTo}">Back to the sign-in</a></p>`,
})

/** The page of a provider that has refused somebody. */
export const refusedPage = (name: string, returnTo: string): Page => ({
  title: `${name} did not sign you in`,
  content: html`<p>You may have cancelled there, or it does not let you in.</p>
<p><a href="${returnTo}">Back to the sign-in</a></p>`,
})

/** Says why a provider's identity lets nobody in, and what to do. */
export function refusalWords(reason: Refusal, name: string): string {
  switch (reason) {
    case 'account_exists':
      return `An account with this email exists. Sign in with its password, then link ${name} on the page of your account.`
    case 'email_not_verified':
      return `${name} has not verified your email. Verify it there, or ask an administrator to invite you.`
    default:
      return `Nobody here is linked to this identity of ${name}. Ask an administrator to invite you.`
  }
}
