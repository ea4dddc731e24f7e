import { html } from '../../../shared/html.ts'
import { createFormat } from '../site/elements/format.ts'
import type { Texts } from './en.ts'
import { createMessages } from './fr.messages.ts'

const format = createFormat('fr', {
  justNow: 'à l’instant',
  soon: 'dans un instant',
  requests: { one: '1 requête', other: (count) => `${count} requêtes` },
  per: { s: 'par seconde', m: 'par minute', h: 'par heure', d: 'par jour' },
})

/** French, with "vous". A space that does not break stands before a colon, and a narrow one before other double punctuation. */
export const fr: Texts = {
  language: 'fr',
  languageName: 'Français',
  format,
  ...createMessages(format),

  navigation: {
    skip: 'Aller au contenu',
    label: 'Compte',
    profile: 'Profil',
    password: 'Mot de passe',
    security: 'Sécurité',
    sessions: 'Sessions',
    keys: 'Clés API',
    console: 'Console',
    account: 'Mon compte',
    previous: '← Précédent',
    next: 'Suivant →',
    actions: 'Actions',
    toProduct: (name) => `Continuer vers ${name}`,
    toStart: 'Aller à la page d’accueil',
    toAccount: 'Accéder à votre compte',
  },

  buttons: {
    signIn: 'Se connecter',
    signOut: 'Se déconnecter',
    signOutToSignIn: 'Se déconnecter et se reconnecter',
    signInAnotherWay: 'Se connecter autrement',
    backToSignIn: 'Retour à la connexion',
    createAccount: 'Créer le compte',
    register: 'Créer un compte',
    forgotPassword: 'Mot de passe oublié\u202f?',
    noVerification: 'E-mail de confirmation non reçu\u202f?',
    noEmail: 'E-mail non reçu\u202f?',
    newEmail: 'Demander un nouvel e-mail',
    usePasskey: 'Utiliser une clé d’accès',
    continue: 'Continuer',
    confirm: 'Confirmer',
    cancel: 'Annuler',
    save: 'Enregistrer',
    copy: 'Copier',
    manage: 'Gérer',
    continueWith: (provider) => `Continuer avec ${provider}`,
  },

  fields: {
    email: 'Adresse e-mail',
    password: 'Mot de passe',
    orPassword: 'Ou votre mot de passe',
    currentPassword: 'Mot de passe actuel',
    newPassword: 'Nouveau mot de passe',
    confirmPassword: 'Confirmer le nouveau mot de passe',
    firstName: 'Prénom',
    lastName: 'Nom de famille',
    code: 'Code',
    name: 'Nom',
    access: 'Accès',
    scopes: 'Autorisations',
    expires: 'Expiration',
    limit: 'Limite',
    currentSecret: 'Secret actuel',
    language: 'Langue',
  },
  hints: {
    password: 'Au moins 8 caractères. Quelques mots pris au hasard font un mot de passe solide.',
    code: 'Les six chiffres affichés par votre application. Sans votre téléphone, saisissez un code de secours.',
    appCode: 'Les six chiffres que l’application affiche maintenant.',
    mailedCode: 'Les huit chiffres contenus dans l’e-mail. Ils sont valables 15 minutes.',
    passkeyName: 'L’endroit où se trouve la clé d’accès, par exemple un téléphone ou un gestionnaire de mots de passe.',
    keyName: 'L’endroit où la clé est utilisée, par exemple un serveur ou un programme.',
    expires: 'Le dernier jour où la clé fonctionne (UTC). Laissez ce champ vide pour une clé sans expiration.',
    limit:
      'La fréquence à laquelle les services acceptent la clé, par exemple 10/m\u00a0: un nombre par s, m, h ou d. Laissez ce champ vide pour une clé sans limite propre.',
    scopes: 'Ce que la clé peut faire pour vous dans les services qui la vérifient.',
  },

  landing: {
    title: 'Votre compte',
    text: 'Connectez-vous pour voir et modifier votre compte.',
    about: (name) => `Ce service gère les comptes de ${name}.`,
    version: (version) => `Version ${version}`,
    developers: ({ explorer, reference, document }) =>
      html`Pour les développeurs\u00a0: ${explorer('explorateur de l’API')}, ${reference('référence')}, ${document('OpenAPI')}`,
  },

  signIn: {
    title: 'Connexion',
    toProduct: (host) => html`Continuer vers <strong>${host}</strong>`,
    byMail: 'Se connecter par e-mail',
    codeTitle: 'Saisissez votre code',
    codeHelp:
      'Sans votre téléphone ni vos codes de secours, seul un administrateur de ce service peut vous rendre l’accès. Un e-mail ne suffit pas.',
    mailText: 'Saisissez l’adresse e-mail de votre compte. Nous vous enverrons un lien et un code pour vous connecter.',
    sendMail: 'Envoyer l’e-mail',
    sendAnotherMail: 'Envoyer un autre e-mail',
    mailSent: (email) =>
      html`S’il existe un compte avec l’adresse <strong>${email}</strong>, un e-mail lui est envoyé. Ouvrez le lien qu’il contient ou saisissez ici le code.`,
    linkOpened: 'J’ai ouvert le lien',
    linkText: 'Le lien de votre e-mail contient un code valable une seule fois, pendant 15 minutes.',
    checkMail: 'Consultez votre messagerie',
  },
  signOut: { title: 'Voulez-vous vous déconnecter\u202f?', stay: 'Rester connecté' },

  register: {
    title: 'Créer un compte',
    hasAccount: (signIn) => html`Vous avez déjà un compte\u202f? ${signIn('Se connecter')}`,
    done: 'Votre compte a été créé.',
    mailSent: (email) =>
      html`Nous avons envoyé un e-mail à <strong>${email}</strong>. Ouvrez le lien qu’il contient dans les 24 heures pour confirmer votre adresse, puis connectez-vous.`,
    mailSentSignInAgain: (email) =>
      html`Nous avons envoyé un e-mail à <strong>${email}</strong>. Ouvrez le lien qu’il contient dans les 24 heures pour confirmer votre adresse, puis reconnectez-vous.`,
  },
  mailRequest: {
    send: 'Envoyer le lien',
    noMail:
      'Si aucun e-mail n’arrive d’ici quelques minutes, vérifiez vos courriers indésirables ainsi que l’adresse que vous avez saisie.',
    password: {
      title: 'Mot de passe oublié\u202f?',
      text: 'Saisissez l’adresse e-mail de votre compte. Nous vous enverrons un lien pour choisir un nouveau mot de passe.',
      done: 'S’il existe un compte avec cette adresse, un e-mail contenant un lien lui est envoyé. Le lien est valable 30 minutes.',
    },
    verification: {
      title: 'Confirmez votre adresse e-mail',
      text: 'Saisissez l’adresse e-mail de votre compte. Nous vous enverrons un nouveau lien pour la confirmer.',
      done: 'S’il existe un compte non confirmé avec cette adresse, un e-mail contenant un lien lui est envoyé. Le lien est valable 24 heures.',
    },
  },
  invitation: {
    title: 'Acceptez votre invitation',
    welcome: (firstName, email) =>
      html`Bienvenue, ${firstName}\u202f! Choisissez un mot de passe pour votre compte <strong>${email}</strong>.`,
    passkey: 'Créer plutôt une clé d’accès',
    closed: 'Demandez une nouvelle invitation à la personne qui vous a invité.',
  },

  purposes: {
    openPage: 'pour ouvrir cette page',
    changeAddress: 'pour modifier votre adresse',
    setUpCodes: 'pour configurer les codes d’une application',
    turnCodesOn: 'pour activer les codes d’une application',
    turnCodesOff: 'pour désactiver les codes d’une application',
    renewRecoveryCodes: 'pour obtenir de nouveaux codes de secours',
    addPasskey: 'pour ajouter une clé d’accès',
    removePasskey: 'pour supprimer cette clé d’accès',
    connect: 'pour associer ce compte',
    disconnect: 'pour dissocier ce compte',
    createKey: 'pour créer cette clé',
    rotateKey: 'pour renouveler cette clé',
    limitKey: 'pour modifier la limite de cette clé',
    enableKey: 'pour activer cette clé',
  },
  confirmation: {
    title: 'Confirmez que c’est bien vous',
    passwordTitle: 'Confirmez votre mot de passe',
    wrongPassword: 'Le mot de passe est incorrect.',
    nothingChanged: (problem) => `${problem} Rien n’a été modifié.`,
    byPassword: (to) => `Vous avez saisi votre mot de passe il y a plus de dix minutes. Saisissez-le à nouveau ${to}.`,
    byPasswordOrCode: (to) => `Vous vous êtes connecté il y a plus de dix minutes. Saisissez un code ou votre mot de passe ${to}.`,
    byPasswordOrPasskey: (to) =>
      `Vous vous êtes connecté il y a plus de dix minutes. Saisissez votre mot de passe ou utilisez une clé d’accès ${to}.`,
    byAll: (to) =>
      `Vous vous êtes connecté il y a plus de dix minutes. Saisissez un code ou votre mot de passe, ou utilisez une clé d’accès, ${to}.`,
    bySignIn: (to) =>
      `Vous vous êtes connecté il y a plus de dix minutes, et votre compte n’a pas de mot de passe. Reconnectez-vous ${to}.`,
    byCode: (to) =>
      `Vous vous êtes connecté il y a plus de dix minutes, et votre compte n’a pas de mot de passe. Reconnectez-vous ou saisissez un code ${to}.`,
    byPasskey: (to) =>
      `Vous vous êtes connecté il y a plus de dix minutes, et votre compte n’a pas de mot de passe. Reconnectez-vous ou utilisez une clé d’accès ${to}.`,
    byCodeOrPasskey: (to) =>
      `Vous vous êtes connecté il y a plus de dix minutes, et votre compte n’a pas de mot de passe. Reconnectez-vous, saisissez un code ou utilisez une clé d’accès ${to}.`,
    repeat: (explanation) => `${explanation} Une fois reconnecté, recommencez l’opération.`,
    codeRequired:
      'Ce service exige un second facteur, et vous ne vous êtes connecté qu’avec votre mot de passe. Saisissez un code pour continuer.',
    passkeyRequired:
      'Ce service exige un second facteur, et vous ne vous êtes connecté qu’avec votre mot de passe. Utilisez une clé d’accès pour continuer.',
    setUpCodes: 'Configurer les codes d’une application',
  },

  profile: {
    nameText: 'Tel qu’il apparaît dans les e-mails de ce service.',
    saveLanguage: 'Enregistrer la langue',
    languageText: 'La langue de ces pages et des e-mails que vous recevez.',
    address: 'Adresse',
    addressText: 'Nous envoyons un lien à la nouvelle adresse. Votre adresse change lorsque vous ouvrez ce lien.',
    changeAddress: 'Modifier l’adresse',
    leaving: 'Supprimer votre compte',
    leavingText: 'Votre compte est supprimé avec ses sessions et ses clés API. Cette action est irréversible.',
    delete: 'Supprimer…',
    deletion: (email) => html`Supprimer définitivement <strong>${email}</strong>\u202f?`,
    deleteAccount: 'Supprimer le compte',
    goodbye: 'Au revoir',
    deleted: 'Votre compte a été supprimé, avec ses sessions et ses clés API.',
    notYourPassword: 'Ce n’est pas votre mot de passe',
  },
  password: {
    title: 'Modifier votre mot de passe',
    text: 'Toutes vos autres sessions sont fermées. Les clés API continuent de fonctionner.',
    change: 'Modifier le mot de passe',
    none: 'Votre compte n’a pas de mot de passe',
    noneText:
      'Vous vous connectez autrement. Pour avoir aussi un mot de passe, demandez un e-mail contenant un lien qui vous permettra d’en choisir un.',
    request: 'Demander un e-mail',
    different: 'Les deux mots de passe ne sont pas identiques',
    notCurrent: 'Ce n’est pas votre mot de passe actuel',
    choose: 'Choisissez un nouveau mot de passe',
    set: 'Enregistrer le mot de passe',
  },

  security: {
    codes: 'Codes d’une application',
    codesText:
      'Pour vous connecter, vous saisissez votre mot de passe, puis un code affiché par une application de votre téléphone. Votre mot de passe seul ne permet alors plus à personne de se connecter. Pour les jours sans téléphone, vous recevez des codes de secours.',
    on: 'Activés',
    off: 'Désactivés',
    setUp: 'Configurer les codes',
    codesLeft: (count) =>
      format.plural(count, {
        one: `Il reste ${count} code de secours. Il permet de vous connecter une fois sans votre téléphone.`,
        other: `Il reste ${count} codes de secours. Chacun permet de vous connecter une fois sans votre téléphone.`,
      }),
    fewCodesLeft: (count) =>
      format.plural(count, {
        one: `Il reste ${count} code de secours. Demandez-en de nouveaux\u00a0: sans téléphone ni codes de secours, seul un administrateur de ce service peut vous rendre l’accès.`,
        other: `Il reste ${count} codes de secours. Demandez-en de nouveaux\u00a0: sans téléphone ni codes de secours, seul un administrateur de ce service peut vous rendre l’accès.`,
      }),
    renew: 'Nouveaux codes de secours',
    renewal: html`Créer de nouveaux codes de secours\u202f? Les anciens ne fonctionneront plus.`,
    turnOff: 'Désactiver',
    turningOff: html`Désactiver les <strong>codes d’une application</strong>\u202f? Vos codes de secours ne fonctionneront plus non plus, et votre mot de passe suffira pour vous connecter.`,
    turnOn: 'Activer',
    setUpTitle: 'Configurer les codes d’une application',
    scan: 'Scannez le code QR',
    scanText:
      'Ouvrez une application d’authentification sur votre téléphone et scannez le code QR, ou saisissez la clé de configuration dans l’application. Saisissez ensuite le code qu’elle affiche. Rien ne change avant cela. Le code QR est valable 15 minutes.',
    qrCode: 'Code QR pour l’application',
    key: (key) => html`Clé de configuration\u00a0: ${key}`,
    recovery: 'Vos codes de secours',
    recoveryNow: 'Enregistrez ces codes maintenant. Ils ne sont affichés qu’une fois.',
    recoveryText: (email, product) =>
      html`Chaque code permet à <strong>${email}</strong> de se connecter une fois à ${product}, à la place d’un code de l’application.`,
    recoveryFile: (email, product) => `Codes de secours de ${email} pour ${product}`,
    lastResort:
      'Sans votre téléphone, sans ces codes et sans clé d’accès, seul un administrateur de ce service peut vous rendre l’accès. Un e-mail ne suffit pas.',
    saveFile: 'Enregistrer dans un fichier',
    print: 'Imprimer',
    saved: 'J’ai enregistré ces codes',
  },
  passkeys: {
    title: 'Clés d’accès',
    heads: ['Clé d’accès', 'Ajoutée', 'Dernière utilisation'],
    add: 'Ajouter une clé d’accès',
    synced: 'Synchronisée entre plusieurs appareils',
    onOneDevice: 'Sur un seul appareil',
    none: 'Aucune clé d’accès',
    noneText:
      'Une clé d’accès vous permet de vous connecter avec le verrouillage d’écran de votre téléphone ou de votre ordinateur, sans mot de passe.',
    footer: 'Une clé d’accès suffit pour vous connecter. Vous pouvez toujours vous connecter avec votre mot de passe, sans clé d’accès.',
    newTitle: 'Connectez-vous sans mot de passe',
    newText:
      'Votre appareil conserve la clé d’accès et la déverrouille comme votre écran\u00a0: par empreinte digitale, reconnaissance faciale ou code PIN. Elle ne fonctionne que sur ce site\u00a0: un faux site ne peut donc pas vous la dérober.',
    create: 'Créer la clé d’accès',
    needsScript: 'La création d’une clé d’accès nécessite JavaScript.',
    nameText: 'Le nom que vous donnez à cette clé d’accès. Vous seul le voyez.',
    remove: 'Supprimer',
    removal: 'Supprimer cette clé d’accès',
    removalText:
      'Vous ne pourrez plus vous connecter avec elle. Supprimez-la aussi de votre appareil, car ce site ne peut pas le faire. Cette action est irréversible.',
    removing: (name) => html`Supprimer définitivement <strong>${name}</strong>\u202f?`,
  },
  providers: {
    title: 'Autres fournisseurs',
    heads: ['Fournisseur', 'Compte'],
    connected: 'Associé',
    since: (date) => html`Depuis le ${date}`,
    none: 'Aucun fournisseur',
    footer:
      'Vous pouvez vous connecter avec chaque compte associé. Les codes d’une application sont demandés comme après votre mot de passe.',
    connect: 'Associer',
    disconnect: 'Dissocier',
    disconnecting: (provider) => html`Dissocier <strong>${provider}</strong>\u202f? Vous ne pourrez plus vous connecter avec ce compte.`,
    existing: 'Vous avez déjà un compte',
    existingText: (email, provider) =>
      html`Il existe déjà un compte avec l’adresse <strong>${email}</strong>. ${provider} n’y est pas encore associé.`,
    existingAdvice: (provider) =>
      `Si c’est le vôtre, connectez-vous une fois comme d’habitude. Associez ensuite ${provider}, que vous pourrez dès lors utiliser pour vous connecter.`,
    signInAndConnect: 'Se connecter et associer',
    otherTitle: (provider) => `Associer ${provider}`,
    other: (email, provider) => `Vous êtes connecté à un autre compte. Seul le titulaire de ${email} peut y associer ${provider}.`,
    otherAdvice: (email) => `Déconnectez-vous, puis connectez-vous en tant que ${email}.`,
    question: (provider) => `Associer ${provider}\u202f?`,
    warning: (provider) => `Toute personne qui peut se connecter à ce compte ${provider} pourra se connecter à votre compte ici.`,
    withoutAddress: 'un compte sans adresse',
    yourAccount: 'Votre compte',
  },

  sessions: {
    title: 'Vos sessions',
    heads: ['Appareil', 'Ouverte avec', 'Connexion', 'Dernière activité'],
    this: 'Cette session',
    revoke: 'Fermer',
    unknownIp: 'Adresse IP inconnue',
    unknownClient: 'Appareil inconnu',
    client: (browser, system) => `${browser} sur ${system}`,
    methods: { password: 'Mot de passe', passkey: 'Clé d’accès', email: 'E-mail' },
    withFactor: (method) => `${method} et second facteur`,
    none: 'Aucune session',
    noneText: 'Vous n’êtes connecté nulle part.',
    footer: 'Si vous ne reconnaissez pas une session, fermez-la et modifiez votre mot de passe.',
    endOthers: 'Fermer toutes les autres sessions',
    endingOthers: html`Fermer toutes vos sessions <strong>sauf celle-ci</strong>\u202f? Vous devrez vous y reconnecter. Cette action est irréversible.`,
  },

  keys: {
    title: 'Vos clés API',
    heads: ['Clé API', 'État', 'Accès', 'Création', 'Expiration', 'Dernière utilisation'],
    active: 'Active',
    disabled: 'Désactivée',
    expired: 'Expirée',
    never: 'jamais',
    noScopes: 'aucune',
    noLimit: 'aucune',
    access: { full: 'complet', read: 'lecture', identify: 'identification' },
    accessChoices: {
      identify: 'Identification\u00a0: qui vous êtes',
      read: 'Lecture\u00a0: aucune modification',
      full: 'Complet\u00a0: tous vos droits',
    },
    none: 'Aucune clé API',
    noneText: 'Créez-en une pour chaque programme qui appelle l’API pour vous.',
    create: 'Créer une clé API',
    newTitle: 'Créer une clé API',
    newCard: 'Une clé pour un programme',
    newText: 'Un programme utilise la clé pour appeler l’API en votre nom. La clé est affichée une seule fois, à la page suivante.',
    dateForm: 'Saisissez une date comme 2027-01-31',
    limitForm: (max) => `Saisissez un nombre jusqu’à ${max} par s, m, h ou d, par exemple 10/m`,
    key: 'Clé',
    secret: 'Votre nouvelle clé',
    secretNow: 'Copiez-la maintenant. Elle n’est affichée qu’une fois, et personne ne pourra la retrouver plus tard.',
    secretLabel: 'Clé API',
    secretUse: (header) => html`Les programmes l’envoient dans l’en-tête ${header}.`,
    beginsWith: 'Commence par',
    created: 'Création',
    lastUsed: 'Dernière utilisation',
    formerSecret: 'Ancien secret',
    worksUntil: (time) => html`valable jusqu’au ${time}`,
    limitText: 'Une limite vous protège d’un programme qui s’emballe.',
    limitTextWithPlan: (limits) => `Une limite vous protège d’un programme qui s’emballe. Toutes vos clés réunies ont droit à ${limits}.`,
    saveLimit: 'Enregistrer la limite',
    rotation: 'Renouveler cette clé',
    rotationText: 'La clé reçoit un nouveau secret. Le reste ne change pas.',
    rotate: 'Renouveler',
    overlaps: {
      none: 'Cesse de fonctionner tout de suite',
      hour: 'Fonctionne encore une heure',
      day: 'Fonctionne encore un jour',
      week: 'Fonctionne encore sept jours',
    },
    deletion: 'Supprimer cette clé',
    deletionText:
      'Les programmes qui utilisent cette clé cessent aussitôt de fonctionner. Cette action est irréversible. Pour les arrêter un temps seulement, désactivez la clé.',
    delete: 'Supprimer',
    deleting: (name) => html`Supprimer définitivement <strong>${name}</strong>\u202f?`,
    disable: 'Désactiver',
    enable: 'Activer',
  },
  use: {
    title: 'Utilisation',
    none: (days) => `Aucun service n’a vérifié cette clé au cours des ${days} derniers jours.`,
    summary: (allowed, limited, days) => html`Autorisées\u00a0: ${allowed}, au-delà de la limite\u00a0: ${limited}, en ${days} jours`,
    day: (date, allowed, limited) => `${date}. Autorisées\u00a0: ${allowed}, au-delà de la limite\u00a0: ${limited}`,
    label: (days) => `Utilisation pour chacun des ${days} derniers jours`,
    numbers: 'Chiffres',
    heads: { day: 'Jour (UTC)', allowed: 'Autorisées', limited: 'Au-delà de la limite' },
  },
}
