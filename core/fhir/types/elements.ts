// Generated from the definitions of FHIR R4 by `npm run generate`.

/**
 * The types on the wire, one a line: the type whose elements they begin with, if there is one, and their own in FHIR's order.
 * An element is a name, `*` if it repeats or `@` if it is an attribute in XML, and after a colon its type; a type with a dot
 * is defined in place. After an equals sign comes the list that a code must be from.
 * @see https://hl7.org/fhir/R4/xml.html
 */
export const elementLists = `
Address Element use:code=address-use type:code=address-type text:string line*:string city:string district:string state:string postalCode:string country:string period:Period
Age Element value:decimal comparator:code=quantity-comparator unit:string system:uri code:code
Annotation Element author[x]:Reference|string time:dateTime text:markdown
Appointment DomainResource identifier*:Identifier status:code=appointmentstatus cancelationReason:CodeableConcept serviceCategory*:CodeableConcept serviceType*:CodeableConcept specialty*:CodeableConcept appointmentType:CodeableConcept reasonCode*:CodeableConcept reasonReference*:Reference priority:unsignedInt description:string supportingInformation*:Reference start:instant end:instant minutesDuration:positiveInt slot*:Reference created:dateTime comment:string patientInstruction:string basedOn*:Reference participant*:Appointment.participant requestedPeriod*:Period
Appointment.participant BackboneElement type*:CodeableConcept actor:Reference required:code=participantrequired status:code=participationstatus period:Period
Attachment Element contentType:code language:code data:base64Binary url:url size:unsignedInt hash:base64Binary title:string creation:dateTime
BackboneElement Element modifierExtension*:Extension
Bundle id:string meta:Meta implicitRules:uri language:code identifier:Identifier type:code=bundle-type timestamp:instant total:unsignedInt link*:Bundle.link entry*:Bundle.entry signature:Signature
Bundle.entry BackboneElement link*:Bundle.link fullUrl:uri resource:Resource search:Bundle.entry.search request:Bundle.entry.request response:Bundle.entry.response
Bundle.entry.request BackboneElement method:code=http-verb url:uri ifNoneMatch:string ifModifiedSince:instant ifMatch:string ifNoneExist:string
Bundle.entry.response BackboneElement status:string location:uri etag:string lastModified:instant outcome:Resource
Bundle.entry.search BackboneElement mode:code=search-entry-mode score:decimal
Bundle.link BackboneElement relation:string url:uri
CapabilityStatement DomainResource url:uri version:string name:string title:string status:code=publication-status experimental:boolean date:dateTime publisher:string contact*:ContactDetail description:markdown useContext*:UsageContext jurisdiction*:CodeableConcept purpose:markdown copyright:markdown kind:code=capability-statement-kind instantiates*:canonical imports*:canonical software:CapabilityStatement.software implementation:CapabilityStatement.implementation fhirVersion:code=FHIR-version format*:code patchFormat*:code implementationGuide*:canonical rest*:CapabilityStatement.rest messaging*:CapabilityStatement.messaging document*:CapabilityStatement.document
CapabilityStatement.document BackboneElement mode:code=document-mode documentation:markdown profile:canonical
CapabilityStatement.implementation BackboneElement description:string url:url custodian:Reference
CapabilityStatement.messaging BackboneElement endpoint*:CapabilityStatement.messaging.endpoint reliableCache:unsignedInt documentation:markdown supportedMessage*:CapabilityStatement.messaging.supportedMessage
CapabilityStatement.messaging.endpoint BackboneElement protocol:Coding address:url
CapabilityStatement.messaging.supportedMessage BackboneElement mode:code=event-capability-mode definition:canonical
CapabilityStatement.rest BackboneElement mode:code=restful-capability-mode documentation:markdown security:CapabilityStatement.rest.security resource*:CapabilityStatement.rest.resource interaction*:CapabilityStatement.rest.interaction searchParam*:CapabilityStatement.rest.resource.searchParam operation*:CapabilityStatement.rest.resource.operation compartment*:canonical
CapabilityStatement.rest.interaction BackboneElement code:code=system-restful-interaction documentation:markdown
CapabilityStatement.rest.resource BackboneElement type:code profile:canonical supportedProfile*:canonical documentation:markdown interaction*:CapabilityStatement.rest.resource.interaction versioning:code=versioning-policy readHistory:boolean updateCreate:boolean conditionalCreate:boolean conditionalRead:code=conditional-read-status conditionalUpdate:boolean conditionalDelete:code=conditional-delete-status referencePolicy*:code=reference-handling-policy searchInclude*:string searchRevInclude*:string searchParam*:CapabilityStatement.rest.resource.searchParam operation*:CapabilityStatement.rest.resource.operation
CapabilityStatement.rest.resource.interaction BackboneElement code:code=type-restful-interaction documentation:markdown
CapabilityStatement.rest.resource.operation BackboneElement name:string definition:canonical documentation:markdown
CapabilityStatement.rest.resource.searchParam BackboneElement name:string definition:canonical type:code=search-param-type documentation:markdown
CapabilityStatement.rest.security BackboneElement cors:boolean service*:CodeableConcept description:markdown
CapabilityStatement.software BackboneElement name:string version:string releaseDate:dateTime
CodeSystem DomainResource url:uri identifier*:Identifier version:string name:string title:string status:code=publication-status experimental:boolean date:dateTime publisher:string contact*:ContactDetail description:markdown useContext*:UsageContext jurisdiction*:CodeableConcept purpose:markdown copyright:markdown caseSensitive:boolean valueSet:canonical hierarchyMeaning:code=codesystem-hierarchy-meaning compositional:boolean versionNeeded:boolean content:code=codesystem-content-mode supplements:canonical count:unsignedInt filter*:CodeSystem.filter property*:CodeSystem.property concept*:CodeSystem.concept
CodeSystem.concept BackboneElement code:code display:string definition:string designation*:CodeSystem.concept.designation property*:CodeSystem.concept.property concept*:CodeSystem.concept
CodeSystem.concept.designation BackboneElement language:code use:Coding value:string
CodeSystem.concept.property BackboneElement code:code value[x]:code|Coding|string|integer|boolean|dateTime|decimal
CodeSystem.filter BackboneElement code:code description:string operator*:code=filter-operator value:string
CodeSystem.property BackboneElement code:code uri:uri description:string type:code=concept-property-type
CodeableConcept Element coding*:Coding text:string
Coding Element system:uri version:string code:code display:string userSelected:boolean
Condition DomainResource identifier*:Identifier clinicalStatus:CodeableConcept verificationStatus:CodeableConcept category*:CodeableConcept severity:CodeableConcept code:CodeableConcept bodySite*:CodeableConcept subject:Reference encounter:Reference onset[x]:dateTime|Age|Period|Range|string abatement[x]:dateTime|Age|Period|Range|string recordedDate:dateTime recorder:Reference asserter:Reference stage*:Condition.stage evidence*:Condition.evidence note*:Annotation
Condition.evidence BackboneElement code*:CodeableConcept detail*:Reference
Condition.stage BackboneElement summary:CodeableConcept assessment*:Reference type:CodeableConcept
ContactDetail Element name:string telecom*:ContactPoint
ContactPoint Element system:code=contact-point-system value:string use:code=contact-point-use rank:positiveInt period:Period
Contributor Element type:code=contributor-type name:string contact*:ContactDetail
Count Element value:decimal comparator:code=quantity-comparator unit:string system:uri code:code
Coverage DomainResource identifier*:Identifier status:code=fm-status type:CodeableConcept policyHolder:Reference subscriber:Reference subscriberId:string beneficiary:Reference dependent:string relationship:CodeableConcept period:Period payor*:Reference class*:Coverage.class order:positiveInt network:string costToBeneficiary*:Coverage.costToBeneficiary subrogation:boolean contract*:Reference
Coverage.class BackboneElement type:CodeableConcept value:string name:string
Coverage.costToBeneficiary BackboneElement type:CodeableConcept value[x]:Quantity|Money exception*:Coverage.costToBeneficiary.exception
Coverage.costToBeneficiary.exception BackboneElement type:CodeableConcept period:Period
DataRequirement Element type:code profile*:canonical subject[x]:CodeableConcept|Reference mustSupport*:string codeFilter*:DataRequirement.codeFilter dateFilter*:DataRequirement.dateFilter limit:positiveInt sort*:DataRequirement.sort
DataRequirement.codeFilter Element path:string searchParam:string valueSet:canonical code*:Coding
DataRequirement.dateFilter Element path:string searchParam:string value[x]:dateTime|Period|Duration
DataRequirement.sort Element path:string direction:code=sort-direction
Device DomainResource identifier*:Identifier definition:Reference udiCarrier*:Device.udiCarrier status:code=device-status statusReason*:CodeableConcept distinctIdentifier:string manufacturer:string manufactureDate:dateTime expirationDate:dateTime lotNumber:string serialNumber:string deviceName*:Device.deviceName modelNumber:string partNumber:string type:CodeableConcept specialization*:Device.specialization version*:Device.version property*:Device.property patient:Reference owner:Reference contact*:ContactPoint location:Reference url:uri note*:Annotation safety*:CodeableConcept parent:Reference
Device.deviceName BackboneElement name:string type:code=device-nametype
Device.property BackboneElement type:CodeableConcept valueQuantity*:Quantity valueCode*:CodeableConcept
Device.specialization BackboneElement systemType:CodeableConcept version:string
Device.udiCarrier BackboneElement deviceIdentifier:string issuer:uri jurisdiction:uri carrierAIDC:base64Binary carrierHRF:string entryType:code=udi-entry-type
Device.version BackboneElement type:CodeableConcept component:Identifier value:string
Distance Element value:decimal comparator:code=quantity-comparator unit:string system:uri code:code
DocumentReference DomainResource masterIdentifier:Identifier identifier*:Identifier status:code=document-reference-status docStatus:code=composition-status type:CodeableConcept category*:CodeableConcept subject:Reference date:instant author*:Reference authenticator:Reference custodian:Reference relatesTo*:DocumentReference.relatesTo description:string securityLabel*:CodeableConcept content*:DocumentReference.content context:DocumentReference.context
DocumentReference.content BackboneElement attachment:Attachment format:Coding
DocumentReference.context BackboneElement encounter*:Reference event*:CodeableConcept period:Period facilityType:CodeableConcept practiceSetting:CodeableConcept sourcePatientInfo:Reference related*:Reference
DocumentReference.relatesTo BackboneElement code:code=document-relationship-type target:Reference
DomainResource id:string meta:Meta implicitRules:uri language:code text:Narrative contained*:Resource extension*:Extension modifierExtension*:Extension
Dosage BackboneElement sequence:integer text:string additionalInstruction*:CodeableConcept patientInstruction:string timing:Timing asNeeded[x]:boolean|CodeableConcept site:CodeableConcept route:CodeableConcept method:CodeableConcept doseAndRate*:Dosage.doseAndRate maxDosePerPeriod:Ratio maxDosePerAdministration:Quantity maxDosePerLifetime:Quantity
Dosage.doseAndRate Element type:CodeableConcept dose[x]:Range|Quantity rate[x]:Ratio|Range|Quantity
Duration Element value:decimal comparator:code=quantity-comparator unit:string system:uri code:code
Element id@:string extension*:Extension
Encounter DomainResource identifier*:Identifier status:code=encounter-status statusHistory*:Encounter.statusHistory class:Coding classHistory*:Encounter.classHistory type*:CodeableConcept serviceType:CodeableConcept priority:CodeableConcept subject:Reference episodeOfCare*:Reference basedOn*:Reference participant*:Encounter.participant appointment*:Reference period:Period length:Duration reasonCode*:CodeableConcept reasonReference*:Reference diagnosis*:Encounter.diagnosis account*:Reference hospitalization:Encounter.hospitalization location*:Encounter.location serviceProvider:Reference partOf:Reference
Encounter.classHistory BackboneElement class:Coding period:Period
Encounter.diagnosis BackboneElement condition:Reference use:CodeableConcept rank:positiveInt
Encounter.hospitalization BackboneElement preAdmissionIdentifier:Identifier origin:Reference admitSource:CodeableConcept reAdmission:CodeableConcept dietPreference*:CodeableConcept specialCourtesy*:CodeableConcept specialArrangement*:CodeableConcept destination:Reference dischargeDisposition:CodeableConcept
Encounter.location BackboneElement location:Reference status:code=encounter-location-status physicalType:CodeableConcept period:Period
Encounter.participant BackboneElement type*:CodeableConcept period:Period individual:Reference
Encounter.statusHistory BackboneElement status:code=encounter-status period:Period
Endpoint DomainResource identifier*:Identifier status:code=endpoint-status connectionType:Coding name:string managingOrganization:Reference contact*:ContactPoint period:Period payloadType*:CodeableConcept payloadMimeType*:code address:url header*:string
Expression Element description:string name:id language:code expression:string reference:uri
Extension Element url@:string value[x]:base64Binary|boolean|canonical|code|date|dateTime|decimal|id|instant|integer|markdown|oid|positiveInt|string|time|unsignedInt|uri|url|uuid|Address|Age|Annotation|Attachment|CodeableConcept|Coding|ContactPoint|Count|Distance|Duration|HumanName|Identifier|Money|Period|Quantity|Range|Ratio|Reference|SampledData|Signature|Timing|ContactDetail|Contributor|DataRequirement|Expression|ParameterDefinition|RelatedArtifact|TriggerDefinition|UsageContext|Dosage|Meta
Group DomainResource identifier*:Identifier active:boolean type:code=group-type actual:boolean code:CodeableConcept name:string quantity:unsignedInt managingEntity:Reference characteristic*:Group.characteristic member*:Group.member
Group.characteristic BackboneElement code:CodeableConcept value[x]:CodeableConcept|boolean|Quantity|Range|Reference exclude:boolean period:Period
Group.member BackboneElement entity:Reference period:Period inactive:boolean
HealthcareService DomainResource identifier*:Identifier active:boolean providedBy:Reference offeredIn*:Reference category*:CodeableConcept type*:CodeableConcept specialty*:CodeableConcept location*:Reference name:string comment:string extraDetails:markdown photo:Attachment telecom*:ContactPoint coverageArea*:Reference serviceProvisionCode*:CodeableConcept eligibility*:HealthcareService.eligibility program*:CodeableConcept characteristic*:CodeableConcept communication*:CodeableConcept referralMethod*:CodeableConcept appointmentRequired:boolean availableTime*:HealthcareService.availableTime notAvailable*:HealthcareService.notAvailable availabilityExceptions:string endpoint*:Reference
HealthcareService.availableTime BackboneElement daysOfWeek*:code=days-of-week allDay:boolean availableStartTime:time availableEndTime:time
HealthcareService.eligibility BackboneElement code:CodeableConcept comment:markdown
HealthcareService.notAvailable BackboneElement description:string during:Period
HumanName Element use:code=name-use text:string family:string given*:string prefix*:string suffix*:string period:Period
Identifier Element use:code=identifier-use type:CodeableConcept system:uri value:string period:Period assigner:Reference
ImmunizationRecommendation DomainResource identifier*:Identifier patient:Reference date:dateTime authority:Reference recommendation*:ImmunizationRecommendation.recommendation
ImmunizationRecommendation.recommendation BackboneElement vaccineCode*:CodeableConcept targetDisease:CodeableConcept contraindicatedVaccineCode*:CodeableConcept forecastStatus:CodeableConcept forecastReason*:CodeableConcept dateCriterion*:ImmunizationRecommendation.recommendation.dateCriterion description:string series:string doseNumber[x]:positiveInt|string seriesDoses[x]:positiveInt|string supportingImmunization*:Reference supportingPatientInformation*:Reference
ImmunizationRecommendation.recommendation.dateCriterion BackboneElement code:CodeableConcept value:dateTime
Location DomainResource identifier*:Identifier status:code=location-status operationalStatus:Coding name:string alias*:string description:string mode:code=location-mode type*:CodeableConcept telecom*:ContactPoint address:Address physicalType:CodeableConcept position:Location.position managingOrganization:Reference partOf:Reference hoursOfOperation*:Location.hoursOfOperation availabilityExceptions:string endpoint*:Reference
Location.hoursOfOperation BackboneElement daysOfWeek*:code=days-of-week allDay:boolean openingTime:time closingTime:time
Location.position BackboneElement longitude:decimal latitude:decimal altitude:decimal
Medication DomainResource identifier*:Identifier code:CodeableConcept status:code=medication-status manufacturer:Reference form:CodeableConcept amount:Ratio ingredient*:Medication.ingredient batch:Medication.batch
Medication.batch BackboneElement lotNumber:string expirationDate:dateTime
Medication.ingredient BackboneElement item[x]:CodeableConcept|Reference isActive:boolean strength:Ratio
Meta Element versionId:id lastUpdated:instant source:uri profile*:canonical security*:Coding tag*:Coding
Money Element value:decimal currency:code
Narrative Element status:code=narrative-status div:xhtml
Observation DomainResource identifier*:Identifier basedOn*:Reference partOf*:Reference status:code=observation-status category*:CodeableConcept code:CodeableConcept subject:Reference focus*:Reference encounter:Reference effective[x]:dateTime|Period|Timing|instant issued:instant performer*:Reference value[x]:Quantity|CodeableConcept|string|boolean|integer|Range|Ratio|SampledData|time|dateTime|Period dataAbsentReason:CodeableConcept interpretation*:CodeableConcept note*:Annotation bodySite:CodeableConcept method:CodeableConcept specimen:Reference device:Reference referenceRange*:Observation.referenceRange hasMember*:Reference derivedFrom*:Reference component*:Observation.component
Observation.component BackboneElement code:CodeableConcept value[x]:Quantity|CodeableConcept|string|boolean|integer|Range|Ratio|SampledData|time|dateTime|Period dataAbsentReason:CodeableConcept interpretation*:CodeableConcept referenceRange*:Observation.referenceRange
Observation.referenceRange BackboneElement low:Quantity high:Quantity type:CodeableConcept appliesTo*:CodeableConcept age:Range text:string
OperationOutcome DomainResource issue*:OperationOutcome.issue
OperationOutcome.issue BackboneElement severity:code=issue-severity code:code=issue-type details:CodeableConcept diagnostics:string location*:string expression*:string
Organization DomainResource identifier*:Identifier active:boolean type*:CodeableConcept name:string alias*:string telecom*:ContactPoint address*:Address partOf:Reference contact*:Organization.contact endpoint*:Reference
Organization.contact BackboneElement purpose:CodeableConcept name:HumanName telecom*:ContactPoint address:Address
ParameterDefinition Element name:code use:code=operation-parameter-use min:integer max:string documentation:string type:code profile:canonical
Parameters id:string meta:Meta implicitRules:uri language:code parameter*:Parameters.parameter
Parameters.parameter BackboneElement name:string value[x]:base64Binary|boolean|canonical|code|date|dateTime|decimal|id|instant|integer|markdown|oid|positiveInt|string|time|unsignedInt|uri|url|uuid|Address|Age|Annotation|Attachment|CodeableConcept|Coding|ContactPoint|Count|Distance|Duration|HumanName|Identifier|Money|Period|Quantity|Range|Ratio|Reference|SampledData|Signature|Timing|ContactDetail|Contributor|DataRequirement|Expression|ParameterDefinition|RelatedArtifact|TriggerDefinition|UsageContext|Dosage|Meta resource:Resource part*:Parameters.parameter
Patient DomainResource identifier*:Identifier active:boolean name*:HumanName telecom*:ContactPoint gender:code=administrative-gender birthDate:date deceased[x]:boolean|dateTime address*:Address maritalStatus:CodeableConcept multipleBirth[x]:boolean|integer photo*:Attachment contact*:Patient.contact communication*:Patient.communication generalPractitioner*:Reference managingOrganization:Reference link*:Patient.link
Patient.communication BackboneElement language:CodeableConcept preferred:boolean
Patient.contact BackboneElement relationship*:CodeableConcept name:HumanName telecom*:ContactPoint address:Address gender:code=administrative-gender organization:Reference period:Period
Patient.link BackboneElement other:Reference type:code=link-type
Period Element start:dateTime end:dateTime
Practitioner DomainResource identifier*:Identifier active:boolean name*:HumanName telecom*:ContactPoint address*:Address gender:code=administrative-gender birthDate:date photo*:Attachment qualification*:Practitioner.qualification communication*:CodeableConcept
Practitioner.qualification BackboneElement identifier*:Identifier code:CodeableConcept period:Period issuer:Reference
PractitionerRole DomainResource identifier*:Identifier active:boolean period:Period practitioner:Reference organization:Reference code*:CodeableConcept specialty*:CodeableConcept location*:Reference healthcareService*:Reference telecom*:ContactPoint availableTime*:PractitionerRole.availableTime notAvailable*:PractitionerRole.notAvailable availabilityExceptions:string endpoint*:Reference
PractitionerRole.availableTime BackboneElement daysOfWeek*:code=days-of-week allDay:boolean availableStartTime:time availableEndTime:time
PractitionerRole.notAvailable BackboneElement description:string during:Period
Procedure DomainResource identifier*:Identifier instantiatesCanonical*:canonical instantiatesUri*:uri basedOn*:Reference partOf*:Reference status:code=event-status statusReason:CodeableConcept category:CodeableConcept code:CodeableConcept subject:Reference encounter:Reference performed[x]:dateTime|Period|string|Age|Range recorder:Reference asserter:Reference performer*:Procedure.performer location:Reference reasonCode*:CodeableConcept reasonReference*:Reference bodySite*:CodeableConcept outcome:CodeableConcept report*:Reference complication*:CodeableConcept complicationDetail*:Reference followUp*:CodeableConcept note*:Annotation focalDevice*:Procedure.focalDevice usedReference*:Reference usedCode*:CodeableConcept
Procedure.focalDevice BackboneElement action:CodeableConcept manipulated:Reference
Procedure.performer BackboneElement function:CodeableConcept actor:Reference onBehalfOf:Reference
Quantity Element value:decimal comparator*:code=quantity-comparator unit:string system:uri code:code
Questionnaire DomainResource url:uri identifier*:Identifier version:string name:string title:string derivedFrom*:canonical status:code=publication-status experimental:boolean subjectType*:code date:dateTime publisher:string contact*:ContactDetail description:markdown useContext*:UsageContext jurisdiction*:CodeableConcept purpose:markdown copyright:markdown approvalDate:date lastReviewDate:date effectivePeriod:Period code*:Coding item*:Questionnaire.item
Questionnaire.item BackboneElement linkId:string definition:uri code*:Coding prefix:string text:string type:code=item-type enableWhen*:Questionnaire.item.enableWhen enableBehavior:code=questionnaire-enable-behavior required:boolean repeats:boolean readOnly:boolean maxLength:integer answerValueSet:canonical answerOption*:Questionnaire.item.answerOption initial*:Questionnaire.item.initial item*:Questionnaire.item
Questionnaire.item.answerOption BackboneElement value[x]:integer|date|time|string|Coding|Reference initialSelected:boolean
Questionnaire.item.enableWhen BackboneElement question:string operator:code=questionnaire-enable-operator answer[x]:boolean|decimal|integer|date|dateTime|time|string|Coding|Quantity|Reference
Questionnaire.item.initial BackboneElement value[x]:boolean|decimal|integer|date|dateTime|time|string|uri|Attachment|Coding|Quantity|Reference
QuestionnaireResponse DomainResource identifier:Identifier basedOn*:Reference partOf*:Reference questionnaire:canonical status:code=questionnaire-answers-status subject:Reference encounter:Reference authored:dateTime author:Reference source:Reference item*:QuestionnaireResponse.item
QuestionnaireResponse.item BackboneElement linkId:string definition:uri text:string answer*:QuestionnaireResponse.item.answer item*:QuestionnaireResponse.item
QuestionnaireResponse.item.answer BackboneElement value[x]:boolean|decimal|integer|date|dateTime|time|string|uri|Attachment|Coding|Quantity|Reference item*:QuestionnaireResponse.item
Range Element low:Quantity high:Quantity
Ratio Element numerator:Quantity denominator:Quantity
Reference Element reference:string type:uri identifier:Identifier display:string
RelatedArtifact Element type:code=related-artifact-type label:string display:string citation:markdown url:url document:Attachment resource:canonical
RelatedPerson DomainResource identifier*:Identifier active:boolean patient:Reference relationship*:CodeableConcept name*:HumanName telecom*:ContactPoint gender:code=administrative-gender birthDate:date address*:Address photo*:Attachment period:Period communication*:RelatedPerson.communication
RelatedPerson.communication BackboneElement language:CodeableConcept preferred:boolean
SampledData Element origin:Quantity period:decimal factor:decimal lowerLimit:decimal upperLimit:decimal dimensions:positiveInt data:string
Schedule DomainResource identifier*:Identifier active:boolean serviceCategory*:CodeableConcept serviceType*:CodeableConcept specialty*:CodeableConcept actor*:Reference planningHorizon:Period comment:string
ServiceRequest DomainResource identifier*:Identifier instantiatesCanonical*:canonical instantiatesUri*:uri basedOn*:Reference replaces*:Reference requisition:Identifier status:code=request-status intent:code=request-intent category*:CodeableConcept priority:code=request-priority doNotPerform:boolean code:CodeableConcept orderDetail*:CodeableConcept quantity[x]:Quantity|Ratio|Range subject:Reference encounter:Reference occurrence[x]:dateTime|Period|Timing asNeeded[x]:boolean|CodeableConcept authoredOn:dateTime requester:Reference performerType:CodeableConcept performer*:Reference locationCode*:CodeableConcept locationReference*:Reference reasonCode*:CodeableConcept reasonReference*:Reference insurance*:Reference supportingInfo*:Reference specimen*:Reference bodySite*:CodeableConcept note*:Annotation patientInstruction:string relevantHistory*:Reference
Signature Element type*:Coding when:instant who:Reference onBehalfOf:Reference targetFormat:code sigFormat:code data:base64Binary
Slot DomainResource identifier*:Identifier serviceCategory*:CodeableConcept serviceType*:CodeableConcept specialty*:CodeableConcept appointmentType:CodeableConcept schedule:Reference status:code=slotstatus start:instant end:instant overbooked:boolean comment:string
Subscription DomainResource status:code=subscription-status contact*:ContactPoint end:instant reason:string criteria:string error:string channel:Subscription.channel
Subscription.channel BackboneElement type:code=subscription-channel-type endpoint:url payload:code header*:string
Timing BackboneElement event*:dateTime repeat:Timing.repeat code:CodeableConcept
Timing.repeat Element bounds[x]:Duration|Range|Period count:positiveInt countMax:positiveInt duration:decimal durationMax:decimal durationUnit:code=units-of-time frequency:positiveInt frequencyMax:positiveInt period:decimal periodMax:decimal periodUnit:code=units-of-time dayOfWeek*:code=days-of-week timeOfDay*:time when*:code=event-timing offset:unsignedInt
TriggerDefinition Element type:code=trigger-type name:string timing[x]:Timing|Reference|date|dateTime data*:DataRequirement condition:Expression
UsageContext Element code:Coding value[x]:CodeableConcept|Quantity|Range|Reference
ValueSet DomainResource url:uri identifier*:Identifier version:string name:string title:string status:code=publication-status experimental:boolean date:dateTime publisher:string contact*:ContactDetail description:markdown useContext*:UsageContext jurisdiction*:CodeableConcept immutable:boolean purpose:markdown copyright:markdown compose:ValueSet.compose expansion:ValueSet.expansion
ValueSet.compose BackboneElement lockedDate:date inactive:boolean include*:ValueSet.compose.include exclude*:ValueSet.compose.include
ValueSet.compose.include BackboneElement system:uri version:string concept*:ValueSet.compose.include.concept filter*:ValueSet.compose.include.filter valueSet*:canonical
ValueSet.compose.include.concept BackboneElement code:code display:string designation*:ValueSet.compose.include.concept.designation
ValueSet.compose.include.concept.designation BackboneElement language:code use:Coding value:string
ValueSet.compose.include.filter BackboneElement property:code op:code=filter-operator value:string
ValueSet.expansion BackboneElement identifier:uri timestamp:dateTime total:integer offset:integer parameter*:ValueSet.expansion.parameter contains*:ValueSet.expansion.contains
ValueSet.expansion.contains BackboneElement system:uri abstract:boolean inactive:boolean version:string code:code display:string designation*:ValueSet.compose.include.concept.designation contains*:ValueSet.expansion.contains
ValueSet.expansion.parameter BackboneElement name:string value[x]:string|boolean|integer|decimal|uri|code|dateTime
`;

/** The codes that FHIR allows in elements with a required binding, one list a line, its name first. */
export const codeLists = `
FHIR-version 0.01 0.05 0.06 0.11 0.0.80 0.0.81 0.0.82 0.4.0 0.5.0 1.0.0 1.0.1 1.0.2 1.1.0 1.4.0 1.6.0 1.8.0 3.0.0 3.0.1 3.3.0 3.5.0 4.0.0 4.0.1
address-type postal physical both
address-use home work temp old billing
administrative-gender male female other unknown
appointmentstatus proposed pending booked arrived fulfilled cancelled noshow entered-in-error checked-in waitlist
bundle-type document message transaction transaction-response batch batch-response history searchset collection
capability-statement-kind instance capability requirements
codesystem-content-mode not-present example fragment complete supplement
codesystem-hierarchy-meaning grouped-by is-a part-of classified-with
composition-status preliminary final amended entered-in-error
concept-property-type code Coding string integer boolean dateTime decimal
conditional-delete-status not-supported single multiple
conditional-read-status not-supported modified-since not-match full-support
contact-point-system phone fax email pager url sms other
contact-point-use home work temp old mobile
contributor-type author editor reviewer endorser
days-of-week mon tue wed thu fri sat sun
device-nametype udi-label-name user-friendly-name patient-reported-name manufacturer-name model-name other
device-status active inactive entered-in-error unknown
document-mode producer consumer
document-reference-status current superseded entered-in-error
document-relationship-type replaces transforms signs appends
encounter-location-status planned active reserved completed
encounter-status planned arrived triaged in-progress onleave finished cancelled entered-in-error unknown
endpoint-status active suspended error off entered-in-error test
event-capability-mode sender receiver
event-status preparation in-progress not-done on-hold stopped completed entered-in-error unknown
event-timing MORN MORN.early MORN.late NOON AFT AFT.early AFT.late EVE EVE.early EVE.late NIGHT PHS HS WAKE C CM CD CV AC ACM ACD ACV PC PCM PCD PCV
filter-operator = is-a descendent-of is-not-a regex in not-in generalizes exists
fm-status active cancelled draft entered-in-error
group-type person animal practitioner device medication substance
http-verb GET HEAD POST PUT DELETE PATCH
identifier-use usual official temp secondary old
issue-severity fatal error warning information
issue-type invalid structure required value invariant security login unknown expired forbidden suppressed processing not-supported duplicate multiple-matches not-found deleted too-long code-invalid extension too-costly business-rule conflict transient lock-error no-store exception timeout incomplete throttled informational
item-type group display question boolean decimal integer date dateTime time string text url choice open-choice attachment reference quantity
link-type replaced-by replaces refer seealso
location-mode instance kind
location-status active suspended inactive
medication-status active inactive entered-in-error
name-use usual official temp nickname anonymous old maiden
narrative-status generated extensions additional empty
observation-status registered preliminary final amended corrected cancelled entered-in-error unknown
operation-parameter-use in out
participantrequired required optional information-only
participationstatus accepted declined tentative needs-action
publication-status draft active retired unknown
quantity-comparator < <= >= >
questionnaire-answers-status in-progress completed amended entered-in-error stopped
questionnaire-enable-behavior all any
questionnaire-enable-operator exists = != > < >= <=
reference-handling-policy literal logical resolves enforced local
related-artifact-type documentation justification citation predecessor successor derived-from depends-on composed-of
request-intent proposal plan directive order original-order reflex-order filler-order instance-order option
request-priority routine urgent asap stat
request-status draft active on-hold revoked completed entered-in-error unknown
restful-capability-mode client server
search-entry-mode match include outcome
search-param-type number date string token reference composite quantity uri special
slotstatus busy free busy-unavailable busy-tentative entered-in-error
sort-direction ascending descending
subscription-channel-type rest-hook websocket email sms message
subscription-status requested active error off
system-restful-interaction transaction batch search-system history-system
trigger-type named-event periodic data-changed data-added data-modified data-removed data-accessed data-access-ended
type-restful-interaction read vread update patch delete history-instance history-type create search-type
udi-entry-type barcode rfid manual card self-reported unknown
units-of-time s min h d wk mo a
versioning-policy no-version versioned versioned-update
`;
