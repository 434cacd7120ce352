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

/** The page that asks whether the person of a verified email takes over the account that an invitation made. */
export const claimPage = (form: {
  readonly csrf: string
  readonly email: string
  readonly name: string
  /** The proved identity, sealed for this form. */
  readonly claim: string
}): Page => ({
  title: 'An account waits for you',
  content: html`<p>An invitation made an account for <strong>${form.email}</strong>, and ${form.name} says that this email is yours. If you go on, you sign in to it by ${form.name} alone.</p>
<p>Whoever followed the invitation may be somebody else, so this ends: its password and second factor, all its sign-ins and sessions, other linked ways to sign in, and its accounts at Git hosts.</p>
<form method="post">
<input type="hidden" name="csrf" value="${form.csrf}">
<input type="hidden" name="claim" value="${form.claim}">
<div class="buttons">
<button type="submit" name="decision" value="claim">Take over the account</button>
<button class="second" type="submit" name="decision" value="cancel">Cancel</button>
</div>
</form>`,
})

/** Says why a provider's identity lets nobody in, and what to do. */
export function refusalText(reason: Refusal, name: string): string {
  switch (reason) {
    case 'account_exists':
      return `An account with this email exists. Sign in with its password, then link ${name} on the page of your account.`
    case 'email_not_verified':
      return `${name} has not verified your email. Verify it there, or ask an administrator to invite you.`
    default:
      return `Nobody here is linked to this identity of ${name}. Ask an administrator to invite you.`
  }
}
