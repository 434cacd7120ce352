import { type Html, html } from '../pages/html.ts'
import type { Page } from '../pages/layout.ts'
import { type Ended, keyOfLinked, type Linked } from '../people/linked-access.ts'
import { alert } from '../sign-in/pages/sign-in-page.ts'
import type { Proofs } from './accept-invitation.ts'
import type { InvitationLink, OneTimeLink, ResetLink } from './one-time-link.ts'
import { passwordLength } from './sent-fields.ts'

/** The page of a link that never worked or works no longer; it does not tell which. */
export const deadLinkPage: Page = {
  title: 'This link does not work',
  content: html`<p>A link works once, for 24 hours. Ask whoever gave it to you for a new one.</p>`,
}

/** The page after a link was followed. @param ended null if there was nothing to end */
export function doneLinkPage(ended: Ended | null): Page {
  const list =
    ended === null
      ? null
      : html`<p>These ended:</p>
<ul>
<li>all sign-ins, and the sessions of all browsers</li>
${ended.linked.map(one => html`<li>${labelOf(one)}</li>\n`)}${ended.secondFactor ? html`<li>the second factor, which somebody else may have set up</li>\n` : null}</ul>
<p>You can link and set them up again on the page of your account.</p>`
  return {
    title: 'You are all set',
    isDone: true,
    content: html`<p>You can sign in now, in the browser or in a terminal with <code>berth login</code>.</p>
${list}`,
  }
}

/** The page for an account that nothing but the invitation of another organization vouches for. */
export const unprovenPage: Page = {
  title: 'Your email is not proven yet',
  content: html`<p>Your account was made by the invitation of another organization, and nobody has verified that the email is yours. Until then it cannot join a second one.</p>
<p>Sign in once with the provider of your company, if there is one. Otherwise ask whoever operates this service for a link that sets a new password. Then open the invitation again.</p>`,
}

/** The form of a link. @param wrong says why the last attempt failed */
export const linkPage = (link: OneTimeLink, wrong: string | null = null, name = ''): Page =>
  link.kind === 'reset' ? resetPage(link, wrong) : invitationPage(link, wrong, name)

const resetPage = ({ email, isFirst }: ResetLink, wrong: string | null): Page => ({
  title: isFirst ? 'Choose your password' : 'Choose a new password',
  content: html`<p>For <strong>${email}</strong>. ${isFirst ? null : 'A new password ends all your sign-ins, and unlinks other ways to sign in and your accounts at Git hosts.'}</p>${alert(wrong)}
<form method="post">${hiddenEmail(email)}<label for="password">New password
<input id="password" name="password" type="password" autocomplete="new-password" minlength="${passwordLength.min}" required>
<small>${passwordAdvice}</small></label><button type="submit">Set password</button></form>`,
})

/** The page is the same whether the email has an account: whoever holds the link may be an administrator who wonders. */
const invitationPage = ({ email, organization }: InvitationLink, wrong: string | null, name: string): Page => ({
  title: `Join ${organization}`,
  content: html`<p>You were invited as <strong>${email}</strong>. If this email has an account here, enter its password. Otherwise choose a name and a password.</p>${alert(wrong)}
<form method="post">${hiddenEmail(email)}<label for="name">Your name
<input id="name" name="name" type="text" autocomplete="name" maxlength="100" value="${name}" autofocus>
<small>Leave it empty if you have an account.</small></label>
<label for="password">Password
<input id="password" name="password" type="password" autocomplete="new-password" required>
<small>${passwordAdvice}</small></label><button type="submit">Join</button></form>`,
})

/** The page that asks the person of an account before it joins another organization. */
export function proofPage({ email, organization }: InvitationLink, proofs: Proofs, wrong: string | null): Page {
  const { proof, code, linked } = proofs
  const links =
    linked.length === 0
      ? null
      : html`<fieldset><legend>Keep what you linked yourself</legend>
${linked.map(
  one => html`<label class="choice"><input type="checkbox" name="${keyOfLinked(one)}" value="keep"><span>${labelOf(one)}</span></label>
`,
)}</fieldset>`
  const factor = code
    ? html`<label>Code of your second factor<input class="code" type="text" name="code" autocomplete="one-time-code" maxlength="24" required></label>`
    : null
  return {
    title: `Before you join ${organization}`,
    content: html`<p>So far one organization could reset the account <strong>${email}</strong>, so somebody there may know its password or have linked something to it. All sign-ins and sessions end now${linked.length === 0 ? null : ', and so does what you do not keep'}.</p>
<p>If somebody else chose your password, change it on the page of your account.</p>${alert(wrong)}
<form method="post"><input type="hidden" name="proof" value="${proof}">${links}${factor}<button type="submit">Join</button></form>`,
  }
}

const labelOf = (one: Linked): string =>
  one.kind === 'identity'
    ? `the sign-in by ${one.issuer} as ${one.subject}`
    : `the account ${one.login} at the Git host ${one.host}`

/** Password managers store the new password under this name. They ignore fields of the type `hidden`. */
const hiddenEmail = (email: string): Html =>
  html`<input type="email" name="username" autocomplete="username" value="${email}" hidden>`

const passwordAdvice = `At least ${passwordLength.min} characters. A sentence is fine.`
