import type { Format } from '../site/elements/format.ts'
import type { Messages } from './en.messages.ts'

const ADDRESS_LINKS =
  'Chaque lien fonctionne une seule fois, pendant 24 heures, et un lien plus récent le remplace. Changez à nouveau l’adresse de votre compte pour obtenir un nouveau lien.'

export const createMessages = ({ plural }: Format): Messages => ({
  refusals: {
    not_authenticated: 'Connectez-vous d’abord.',
    token_invalid: 'Ce lien ou cette session n’est plus valable.',
    token_expired: 'Ce lien ou cette session a expiré.',
    already_verified: 'Cette adresse e-mail est déjà confirmée.',
    key_invalid: 'Cette clé API n’est pas valable.',
    key_inactive: 'Cette clé API est désactivée.',
    key_expired: 'Cette clé API a expiré.',
    not_permitted: 'Cette demande a été refusée. Rouvrez la page et recommencez l’opération.',
    user_not_found: 'Cet utilisateur n’existe pas. Le compte a peut-être été supprimé.',
    key_not_found: 'Cette clé API n’existe pas. Elle a peut-être été supprimée.',
    session_not_found: 'Cette session n’existe pas. Elle a peut-être pris fin.',
    email_taken: 'Il existe déjà un compte avec cette adresse e-mail.',
    wrong_credentials: 'L’adresse e-mail ou le mot de passe est incorrect.',
    login_banned: 'Ce compte est bloqué.',
    login_unverified:
      'Confirmez votre adresse e-mail avant de vous connecter. Ouvrez le lien de l’e-mail que nous vous avons envoyé, ou demandez-en un nouveau ci-dessous.',
    second_factor_required: 'Un second facteur est nécessaire. Configurez-en un, ou confirmez avec lui que c’est bien vous.',
    second_step: 'Saisissez le code de votre application.',
    confirmation_required: 'Confirmez que c’est bien vous.',
    invalid_code: 'Ce code est incorrect, a expiré ou a déjà été utilisé.',
    code_refused: 'Ce code est incorrect, a expiré ou a déjà été utilisé.',
    invalid_passkey: 'Cette clé d’accès n’a pas été acceptée.',
    passkey_refused: 'Cette clé d’accès n’a pas été acceptée.',
    invalid_challenge: 'Cette connexion a pris trop de temps ou a été tentée trop souvent. Recommencez.',
    second_factor_on: 'Les codes d’une application sont déjà activés.',
    second_factor_off: 'Les codes d’une application ne sont pas activés.',
    too_many_passkeys: 'Ce compte a trop de clés d’accès. Supprimez-en une qui ne sert plus.',
    invitation_not_found:
      'Cette invitation n’est plus ouverte : elle a été acceptée, retirée ou remplacée par une plus récente, ou elle a expiré.',
    provider_not_found: 'Ce fournisseur n’est pas associé, ou ce service ne le propose pas.',
    provider_unavailable:
      'Le fournisseur est injoignable pour le moment. Patientez un instant puis réessayez, ou connectez-vous autrement.',
    provider_refused: 'La connexion a été annulée, ou la réponse du fournisseur n’a pas pu être acceptée.',
    provider_without_email:
      'Le fournisseur ne nous a pas communiqué d’adresse e-mail. Autorisez-le à le faire, ou connectez-vous autrement.',
    provider_taken: 'Ce compte du fournisseur appartient ici à un autre compte, ou votre compte en a déjà un autre chez ce fournisseur.',
    sign_in_ended: 'Cette connexion a été commencée dans un autre navigateur ou onglet, a pris trop de temps ou est déjà terminée.',
    only_way_in: 'C’est le seul moyen de vous connecter à votre compte. Définissez d’abord un mot de passe ou ajoutez une clé d’accès.',
    passkey_not_found: 'Cette clé d’accès n’existe pas. Elle a peut-être été supprimée.',
    ban_self: 'Vous ne pouvez pas vous bloquer vous-même.',
    last_admin: 'Le dernier administrateur ne peut pas être supprimé. Nommez d’abord un autre administrateur.',
    revoke_last_admin: 'Le dernier administrateur le reste. Nommez d’abord un autre administrateur.',
    no_session: 'Il n’y a aucune session à fermer.',
    too_many_keys: 'Ce compte a trop de clés API. Supprimez-en une qui ne sert plus.',
    expiry_in_past: 'La date d’expiration doit être dans le futur.',
    unknown_scope: 'Cette autorisation n’existe pas.',
    unknown_plan: 'Cette formule n’existe pas.',
    no_key: 'Seule une clé API peut se révoquer elle-même.',
    data_too_large: 'C’est trop volumineux. Chaque objet peut compter 16 384 octets en JSON.',
    too_many_requests: 'Trop de demandes. Patientez un instant, puis réessayez.',
    limited: 'Trop de demandes. Patientez un instant, puis réessayez.',
    unavailable: 'Le service ne peut pas répondre pour le moment. Patientez un instant, puis réessayez.',
  },
  errors: {
    waitSeconds: (count) =>
      plural(count, {
        one: `Trop de demandes. Réessayez dans ${count} seconde.`,
        other: `Trop de demandes. Réessayez dans ${count} secondes.`,
      }),
    waitMinutes: (count) =>
      plural(count, {
        one: `Trop de demandes. Réessayez dans ${count} minute.`,
        other: `Trop de demandes. Réessayez dans ${count} minutes.`,
      }),
    tooLarge: 'Le formulaire est trop volumineux pour être envoyé.',
    failed: 'Le service n’a pas pu traiter cette demande.',
    other: () => 'Cette valeur n’est pas valable.',
    badAddress: 'L’adresse de cette page n’est pas valable.',
    badLink: (message) => `Le lien qui vous a conduit ici n’est pas valable : ${message}.`,
    signedOut: 'Vous êtes déconnecté',
    sessionEnded: 'Votre session a pris fin, rien n’a donc été modifié.',
    requestId: (id) => `Identifiant de la demande : ${id}`,
    oneField: 'Un champ doit être corrigé.',
    someFields: 'Certains champs doivent être corrigés.',
    notAllowed: 'Non autorisé',
    notFound: 'Introuvable',
    tooMuch: 'Envoi trop volumineux',
    invalid: 'Traitement impossible',
    tooMany: 'Trop de tentatives',
    unavailable: 'Temporairement indisponible',
    wrong: 'Une erreur est survenue',
    refused: 'Demande refusée',
  },
  issues: {
    required: (label) => (label === undefined ? 'Cette valeur est obligatoire' : `${label} : ce champ est obligatoire`),
    email: 'Saisissez une adresse e-mail valable, par exemple nom@example.com',
    tooShort: (count, label) => {
      const text = plural(count, {
        one: `au moins ${count} caractère est nécessaire`,
        other: `au moins ${count} caractères sont nécessaires`,
      })
      return label === undefined ? `Ici, ${text}` : `${label} : ${text}`
    },
    tooLong: (count, label) => {
      const text = plural(count, { one: `${count} caractère au maximum`, other: `${count} caractères au maximum` })
      return label === undefined ? `Ici, ${text}` : `${label} : ${text}`
    },
    listedPassword: 'Ce mot de passe figure sur une liste de mots de passe divulgués',
    forbiddenCharacter: 'Les caractères de contrôle ne sont pas autorisés',
  },
  notices: {
    'signed-out': 'Vous êtes déconnecté.',
    'invitation-accepted': 'Votre compte a été créé, et vous êtes connecté.',
    'profile-saved': 'Votre nom a été enregistré.',
    'language-saved': 'Votre langue a été enregistrée.',
    'address-mailed': 'Un e-mail contenant un lien part vers la nouvelle adresse. Votre adresse change lorsque vous ouvrez ce lien.',
    'password-changed': 'Votre mot de passe a été changé. Toutes les autres sessions sont fermées.',
    'limit-saved': 'La limite de la clé API a été enregistrée.',
    'session-revoked': 'La session est fermée.',
    'sessions-revoked': 'Toutes les autres sessions sont fermées.',
    'key-disabled': 'La clé API est désactivée.',
    'key-enabled': 'La clé API est activée.',
    'key-deleted': 'La clé API a été supprimée.',
    'sign-in-ended': 'Cette connexion a pris trop de temps ou a été tentée trop souvent. Recommencez.',
    'factor-required': 'Ce service exige un second facteur. Configurez les codes d’une application ou une clé d’accès pour continuer.',
    'codes-off': 'Les codes d’une application sont désactivés. Votre mot de passe suffit pour vous connecter.',
    'passkey-added': 'La clé d’accès a été ajoutée.',
    'passkey-renamed': 'La clé d’accès a un nouveau nom.',
    'passkey-removed': 'La clé d’accès a été supprimée. Supprimez-la aussi de votre appareil.',
    'provider-connected': 'Le compte du fournisseur est associé. Vous pouvez vous connecter avec lui.',
    'provider-disconnected': 'Le compte du fournisseur n’est plus associé.',
    'connection-ended': 'L’association a pris trop de temps ou est déjà terminée. Recommencez.',
    'session-ended': 'Votre session a pris fin. Reconnectez-vous.',
  },

  publicErrors: {
    notFound: {
      title: 'Page introuvable',
      message: 'Il n’y a pas de page à cette adresse.',
      advice: 'Vérifiez que l’adresse ne contient pas de faute de frappe.',
    },
    unavailable: {
      title: 'Temporairement indisponible',
      message: 'Le service ne peut pas répondre pour le moment.',
      advice: 'Patientez un instant, puis rechargez cette page.',
    },
    refused: {
      title: 'Cette demande n’est pas prise en charge',
      message: 'L’adresse existe, mais elle n’accepte pas ce type de demande.',
      advice: 'Revenez en arrière et réessayez le lien.',
    },
    failed: {
      title: 'Une erreur est survenue',
      message: 'Le service n’a pas pu traiter cette demande.',
      advice: 'Réessayez plus tard. Si le problème persiste, envoyez l’identifiant ci-dessous à l’exploitant de ce service.',
    },
  },
  links: {
    close: 'Vous pouvez fermer cette page.',
    expired: 'Ce lien a expiré.',
    invalid: 'Ce lien a déjà été utilisé, a été remplacé par un plus récent ou est incomplet.',
    gone: 'Le compte de ce lien n’existe plus.',
    expiredTitle: 'Ce lien a expiré',
    invalidTitle: 'Ce lien ne fonctionne pas',
    goneTitle: 'Ce compte n’existe plus',
    goneAdvice: 'Le compte a été supprimé. Inscrivez-vous à nouveau pour en créer un autre.',
    verification: {
      done: { title: 'Votre adresse est confirmée', text: 'Vous pouvez maintenant vous connecter.' },
      again: { title: 'Votre adresse est déjà confirmée', text: 'Vous pouvez vous connecter.' },
      expired:
        'Les liens de confirmation sont valables 24 heures. Demandez un nouvel e-mail de confirmation et ouvrez le lien qu’il contient.',
      invalid: 'Ouvrez le lien complet de votre dernier e-mail de confirmation, ou demandez-en un nouveau.',
    },
    address: {
      done: { title: 'Votre nouvelle adresse est confirmée', text: 'Utilisez-la désormais pour vous connecter.' },
      again: { title: 'Votre nouvelle adresse est déjà confirmée', text: 'Utilisez-la pour vous connecter.' },
      expired: ADDRESS_LINKS,
      invalid: ADDRESS_LINKS,
      takenTitle: 'Cette adresse est déjà prise',
      taken: 'Entre-temps, un autre compte utilise cette adresse. Connectez-vous à ce compte, ou choisissez une autre adresse.',
    },
    reset: {
      done: { title: 'Votre mot de passe a été changé', text: 'Vous pouvez maintenant vous connecter avec votre nouveau mot de passe.' },
      failed: 'Le mot de passe ne peut pas être réinitialisé',
      advice:
        'Chaque lien fonctionne une seule fois, pendant 30 minutes. Demandez un nouvel e-mail de réinitialisation et ouvrez le lien qu’il contient.',
      limited: 'Ouvrez ensuite à nouveau le lien de l’e-mail.',
      newPassword: 'Nouveau mot de passe',
    },
    provider: {
      title: 'Vous n’êtes pas connecté',
      unreachable: 'Le fournisseur est injoignable',
      unknown: 'Ce fournisseur n’existe pas',
      ended: 'Cette connexion a pris fin',
      banned: 'Ce compte est bloqué',
      unverified: 'Confirmez d’abord votre adresse',
      advice: 'Recommencez, ou connectez-vous autrement.',
      invalidAdvice: 'Revenez en arrière et réessayez, ou connectez-vous autrement.',
      bannedAdvice: 'Adressez-vous à l’exploitant de ce service.',
      unverifiedAdvice: 'Ouvrez le lien de l’e-mail de confirmation, puis reconnectez-vous.',
      takenAdvice: 'Connectez-vous avec lui pour voir à quel compte il appartient, et dissociez-le d’abord de ce compte.',
    },
  },

  script: {
    copied: 'Copié',
    selected: 'Sélectionné',
    noPasskeyUsed: 'Aucune clé d’accès n’a été utilisée. Réessayez.',
    noPasskeyCreated: 'Aucune clé d’accès n’a été créée. Réessayez.',
    hasPasskey: 'Cet appareil a déjà une clé d’accès pour votre compte.',
  },
})
