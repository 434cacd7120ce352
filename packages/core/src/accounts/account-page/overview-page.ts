import type { SignIn } from '@berth/contract'
import { type Html, html } from '../pages/html.ts'
import type { Page } from '../pages/layout.ts'

/** A sign-in with the name of its organization. */
export type SignInToShow = Pick<SignIn, 'id' | 'clientId' | 'address' | 'userAgent' | 'lastUsedAt'> & {
  readonly organization: string
}

/** The page of a person's own account. Paths are the other pages of it. */
export const overviewPage = (form: {
  readonly csrf: string
  readonly path: string
  readonly name: string
  readonly email: string
  readonly hasPassword: boolean
  /** How many recovery codes are left; null without a second factor. */
  readonly recoveryCodes: number | null
  readonly signIns: readonly SignInToShow[]
  /** The deployment has providers to link, or the person an identity. */
  readonly hasIdentities: boolean
}): Page => {
  const { csrf, path, signIns, recoveryCodes } = form
  const factor =
    recoveryCodes === null
      ? html`<p>Off. Your password alone signs you in.</p>`
      : html`<p>On. ${recoveryCodes} recovery ${recoveryCodes === 1 ? 'code is' : 'codes are'} left.</p>`
  return {
    title: 'Your account',
    content: html`<dl>
<dt>Name</dt><dd>${form.name}</dd>
<dt>Email</dt><dd>${form.email}</dd>
</dl>
${
  form.hasPassword
    ? html`<h2>Password</h2>
<p><a href="${path}/password">Change your password</a></p>
<h2>Second factor</h2>
${factor}
<p><a href="${path}/second-factor">${recoveryCodes === null ? 'Set up a second factor' : 'Change your second factor'}</a></p>`
    : null
}
${
  form.hasIdentities
    ? html`<h2>Other ways to sign in</h2>
<p><a href="${path}/identities">See and link them</a></p>`
    : null
}
<h2>Sign-ins</h2>
${signIns.length === 0 ? html`<p>Nothing acts as you.</p>` : html`<ul class="plain">${signIns.map(signIn => signInItem(csrf, signIn))}</ul>`}
<form method="post">
<input type="hidden" name="csrf" value="${csrf}">
<button class="second" type="submit" name="decision" value="sign-out">Sign out of this browser</button>
</form>`,
  }
}

const signInItem = (
  csrf: string,
  { id, clientId, organization, address, userAgent, lastUsedAt }: SignInToShow,
): Html => html`<li>
<strong>${organization}</strong>
<small>${clientId}${userAgent === null ? null : `, ${userAgent}`}</small>
<small>from ${address ?? 'an unknown address'}, used last on ${lastUsedAt.slice(0, 16).replace('T', ' ')} UTC</small>
<form method="post">
<input type="hidden" name="csrf" value="${csrf}">
<input type="hidden" name="sign-in" value="${id}">
<button class="second" type="submit" name="decision" value="end">End</button>
</form>
</li>
`
